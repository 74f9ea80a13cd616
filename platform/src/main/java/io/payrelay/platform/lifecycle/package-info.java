/**
 * Threads and their ends: a loop that steps a worker, backs off on failures that heal and stops on
 * those that do not. Workers themselves know no threads: tests step them by hand.
 */
@NullMarked
package io.payrelay.platform.lifecycle;

import org.jspecify.annotations.NullMarked;
