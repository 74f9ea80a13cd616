/**
 * The payrelay command of production: wiring of the three processes, migrate, and what operators
 * and upstreams type. Configuration comes from the environment; each command checks all of it
 * before it does anything. Only this package and the workbench write to the console or end the
 * process.
 */
@NullMarked
package io.payrelay.app;

import org.jspecify.annotations.NullMarked;
