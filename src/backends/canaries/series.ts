/** Points of a source as values at equal distances. */

export interface Point {
  readonly atMs: number
  readonly value: number
}

/** What becomes of several points within a step. */
export type Gathering = 'average' | 'sum'

interface Steps {
  /** Where steps begin; default: at the first point. */
  readonly startMs?: number
  readonly stepMs: number
  readonly gathering?: Gathering
}

/** A damaged answer must not become a list without end. */
const mostValues = 500_000

/** From the first point to the last; NaN where there is none between. */
export function toValues(points: readonly Point[], { startMs: wanted, stepMs, gathering = 'average' }: Steps) {
  const sorted = points.filter(({ value }) => Number.isFinite(value)).sort((a, b) => a.atMs - b.atMs)
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (first === undefined || last === undefined) return { startMs: wanted ?? 0, values: [] }
  const begin = wanted ?? first.atMs
  const round = wanted === undefined ? Math.round : Math.floor
  const indexOf = ({ atMs }: Point) => round((atMs - begin) / stepMs)
  const firstIndex = Math.max(0, indexOf(first))
  const length = Math.min(mostValues, Math.max(0, indexOf(last) - firstIndex + 1))
  const sums = new Float64Array(length)
  const counts = new Uint32Array(length)
  for (const point of sorted) {
    const index = indexOf(point) - firstIndex
    if (index < 0 || index >= length) continue
    sums[index] = (sums[index] ?? 0) + point.value
    counts[index] = (counts[index] ?? 0) + 1
  }
  const values = Array.from(sums, (sum, index) => {
    const count = counts[index] ?? 0
    return count === 0 ? Number.NaN : gathering === 'sum' ? sum : sum / count
  })
  return { startMs: begin + firstIndex * stepMs, values }
}
