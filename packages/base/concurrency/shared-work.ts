/** Work that is done once for all who ask for it at the same time. */

/** @returns starts the work, or joins it while it runs; all of them have its result, or its failure */
export function sharedWork<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}
