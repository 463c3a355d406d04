/** Bound on a wait; what is waited for goes on. */

const overtime = Symbol('the time is over')

/**
 * Resolves or rejects as the promise does, or after `ms` milliseconds as `late` decides, which may throw.
 *
 * @param late What counts instead; undefined unless given.
 * @param unref Whether the process may end meanwhile.
 */
export async function within<T, Late = undefined>(
  ms: number,
  promise: Promise<T>,
  late?: () => Late,
  { unref = false } = {},
): Promise<T | Late> {
  const over = Promise.withResolvers<typeof overtime>()
  const timer = setTimeout(over.resolve, ms, overtime)
  if (unref) timer.unref()
  try {
    const first = await Promise.race([promise, over.promise])
    return first === overtime ? (late?.() as Late) : first
  } finally {
    clearTimeout(timer)
  }
}
