/** Parts that are opened one after another and closed together, the last one first. */

interface Closable {
  close?(): Promise<void> | void
}

/** Has the part closed with the others. @returns the part */
export type Keep = <Part extends Closable | undefined>(part: Part) => Part

interface OpenParts<Result> {
  readonly result: Result
  /** Closes every part, even when one of them fails. @throws {Error} the failure, after the others are closed */
  close(): Promise<void>
}

/**
 * @param open Opens the parts and hands each one to `keep`
 * @throws what `open` throws, after the parts that were open by then are closed
 */
export async function openParts<Result>(
  open: (keep: Keep) => Result | Promise<Result>,
): Promise<OpenParts<Result>> {
  const opened = new AsyncDisposableStack()
  const keep: Keep = (part) => opened.adopt(part, async () => part?.close?.())
  try {
    return { result: await open(keep), close: () => opened.disposeAsync() }
  } catch (error) {
    // The first failure is the cause of what fails in the clean-up.
    await opened.disposeAsync().catch(() => {})
    throw error
  }
}
