package io.payrelay.simulator;

/** The protocols that the one provider speaks. */
enum Face {
  /** docs/generic-provider.md. */
  GENERIC,
  /** Stripe's API v1. */
  STRIPE
}
