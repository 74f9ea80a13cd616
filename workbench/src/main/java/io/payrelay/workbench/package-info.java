/**
 * The whole system on one machine: app + local-stack + simulator. For trying, testing and
 * measuring; never part of the production image. Users and secrets made here are for loopback only.
 */
@NullMarked
package io.payrelay.workbench;

import org.jspecify.annotations.NullMarked;
