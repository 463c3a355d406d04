/** Spans of time on a clock that may be set back meanwhile. */

/** Whether a span still runs. One that ends later than a new one would is from before the clock was set back. */
export function isRunning(nowMs: number, untilMs: number, lengthMs: number): boolean {
  return untilMs > nowMs && untilMs <= nowMs + lengthMs
}

/** Milliseconds since then. What lies ahead is from before the clock was set back, and counts as long ago. */
export function elapsedMs(nowMs: number, sinceMs: number): number {
  return sinceMs > nowMs ? Number.POSITIVE_INFINITY : nowMs - sinceMs
}
