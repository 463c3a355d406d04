/** The first characters of a few paths, to tell quickly that another path is none of them. */

export class PathStarts {
  readonly #starts: ReadonlySet<number>

  /** @param paths Each begins with a slash and two characters that are no wildcard. */
  constructor(paths: readonly string[]) {
    this.#starts = new Set(paths.map((path) => startOf(path, 0)))
  }

  /** Whether one of the paths begins as `path` does from there on. False for nearly all others. */
  has(path: string, from = 0): boolean {
    return this.#starts.has(startOf(path, from))
  }
}

/** Two characters after the slash, as a number. */
function startOf(path: string, from: number): number {
  return (path.charCodeAt(from + 1) << 16) | path.charCodeAt(from + 2)
}
