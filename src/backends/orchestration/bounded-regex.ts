/** Regular expressions from pipelines, matched within bounded time. */

/** Whether the pattern matches the whole text; a pattern that is not a regular expression matches nothing. */
export function matchesWhole(pattern: string, text: string): boolean {
  try {
    return new RegExp(`^(?:${pattern})$`, 's').test(text)
  } catch {
    return false
  }
}
