/** Turns of the event loop, which other requests could have had. */

/** Counts the iterations of the event loop until `work` has resolved. */
export async function countTurns<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0
  let next = setImmediate(count)
  function count(): void {
    turns++
    next = setImmediate(count)
  }
  try {
    return { result: await work(), turns }
  } finally {
    clearImmediate(next)
  }
}
