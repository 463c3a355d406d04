/** Order of lists, and ranking of search results. */

export function compareValues(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Keeps what has a closeness, the closest first; equally close ones stay in their order. */
export function rankByCloseness<T>(
  found: readonly T[],
  closeness: (one: T) => number | undefined,
): T[] {
  const ranked = found.flatMap((one) => {
    const score = closeness(one)
    return score === undefined ? [] : [{ one, score }]
  })
  return ranked.sort((a, b) => b.score - a.score).map(({ one }) => one)
}

/** How much of the text the wanted part makes up, ignoring case: 1 when equal; undefined when it is not contained. */
export function containment(text: string, part: string): number | undefined {
  return text.toLowerCase().includes(part.toLowerCase())
    ? part.length / Math.max(text.length, 1)
    : undefined
}
