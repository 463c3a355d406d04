/** Edit distance between words, for suggestions. */

/** The name that the writer of `written` most likely meant; undefined when none is near. */
export function nearestName(
  names: Iterable<string>,
  written: string,
  most?: number,
): string | undefined {
  const folded = written.toLowerCase()
  let limit = Math.min(
    Math.max(1, Math.floor(written.length / 3)),
    most ?? Number.POSITIVE_INFINITY,
  )
  let best: string | undefined
  for (const name of names) {
    const distance = editDistance(name.toLowerCase(), folded, limit)
    if (distance > limit) continue
    best = name
    limit = distance - 1
  }
  return best
}

/** Longer words are compared with nothing: the work grows with the square of their length. */
const longestCompared = 100

/** The names, those nearest to `written` first; names that are equally near keep their order. */
export function nearestFirst(names: Iterable<string>, written: string): string[] {
  const all = [...names]
  if (written.length > longestCompared) return all
  const distances = new Map(
    all.map((name) => [name, editDistance(name.toLowerCase(), written.toLowerCase())]),
  )
  return all.toSorted(
    (one, other) => (distances.get(one) as number) - (distances.get(other) as number),
  )
}

/** The message for a wrong value of an enumeration: `"RUNING" is not a status. Use one of RUNNING, …`, the nearest first. */
export function describeChoice(written: string, what: string, choices: Iterable<string>): string {
  return `"${shorten(written)}" is not ${what}. Use one of ${nearestFirst(choices, written).join(', ')}.`
}

/** The beginning of a long text, for messages: a client may have sent a megabyte. */
export function shorten(text: string, maxLength: number = longestCompared): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
}

/**
 * Letters to insert, leave out, replace or swap with their neighbour.
 *
 * @param most Distances beyond it are all infinite: words that have little in common are told apart by their first letters.
 */
export function editDistance(
  from: string,
  to: string,
  most: number = Number.POSITIVE_INFINITY,
): number {
  if (Math.abs(from.length - to.length) > most) return Number.POSITIVE_INFINITY
  let least = 0
  let before: number[] = []
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1] ? 0 : 1
      let cost = Math.min(
        previous[column]! + 1,
        current[column - 1]! + 1,
        previous[column - 1]! + same,
      )
      const swapped =
        row > 1 &&
        column > 1 &&
        from[row - 1] === to[column - 2] &&
        from[row - 2] === to[column - 1]
      if (swapped) cost = Math.min(cost, before[column - 2]! + 1)
      current.push(cost)
    }
    // A swap goes back by two rows.
    const leastBefore = least
    least = Math.min(...current)
    if (Math.min(least, leastBefore) > most) return Number.POSITIVE_INFINITY
    before = previous
    previous = current
  }
  const distance = previous[to.length]!
  return distance > most ? Number.POSITIVE_INFINITY : distance
}
