/** Edit distance between words, for suggestions. */

/** The name that the writer of `written` most likely meant; undefined when none is near. */
export function nearestName(names: Iterable<string>, written: string): string | undefined {
  const limit = Math.max(1, Math.floor(written.length / 3))
  let best: { name: string; distance: number } | undefined
  for (const name of names) {
    const distance = editDistance(name.toLowerCase(), written.toLowerCase())
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { name, distance }
  }
  return best?.name
}

/** Longer words are compared with nothing: the work grows with the square of their length. */
const longestCompared = 100

/** The names, those nearest to `written` first; names that are equally near keep their order. */
export function nearestFirst(names: Iterable<string>, written: string): string[] {
  const all = [...names]
  if (written.length > longestCompared) return all
  const distances = new Map(all.map((name) => [name, editDistance(name.toLowerCase(), written.toLowerCase())]))
  return all.toSorted((one, other) => (distances.get(one) as number) - (distances.get(other) as number))
}

/** The message for a wrong value of an enumeration: `"RUNING" is not a status. Use one of RUNNING, …`, the nearest first. */
export function describeChoice(written: string, what: string, choices: Iterable<string>): string {
  return `"${shorten(written)}" is not ${what}. Use one of ${nearestFirst(choices, written).join(', ')}.`
}

/** The beginning of a long text, for messages: a client may have sent a megabyte. */
export function shorten(text: string): string {
  return text.length > longestCompared ? `${text.slice(0, longestCompared)}…` : text
}

/** Letters to insert, leave out, replace or swap with their neighbour. */
export function editDistance(from: string, to: string): number {
  let before: number[] = []
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1] ? 0 : 1
      let cost = Math.min(previous[column]! + 1, current[column - 1]! + 1, previous[column - 1]! + same)
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (swapped) cost = Math.min(cost, before[column - 2]! + 1)
      current.push(cost)
    }
    before = previous
    previous = current
  }
  return previous[to.length]!
}
