/** Points of a source as values at equal distances. */

export interface Point {
  readonly atMs: number
  readonly value: number
}

interface Steps {
  /** Where steps begin; default: at the first point. */
  readonly startMs?: number
  readonly stepMs: number
  /** What becomes of several points within a step. */
  readonly gathering?: 'average' | 'sum'
}

/** A damaged answer must not become a list without end. */
const mostValues = 500_000

/** From the first point to the last; NaN where there is none between. */
export function toValues(
  points: readonly Point[],
  { startMs: wanted, stepMs, gathering = 'average' }: Steps,
) {
  const [firstMs, lastMs] = timesOf(points)
  if (firstMs > lastMs) return { startMs: wanted ?? 0, values: new Float64Array() }
  const beginMs = wanted ?? firstMs
  const round = wanted === undefined ? Math.round : Math.floor
  const indexOf = (atMs: number) => round((atMs - beginMs) / stepMs)
  const firstIndex = Math.max(0, indexOf(firstMs))
  const length = Math.min(mostValues, Math.max(0, indexOf(lastMs) - firstIndex + 1))
  const values = new Float64Array(length).fill(Number.NaN)
  const counts = new Uint32Array(length)
  for (const { atMs, value } of points) {
    const index = indexOf(atMs) - firstIndex
    const count = counts[index]
    if (count === undefined || !Number.isFinite(value)) continue
    const known = values[index] ?? 0
    values[index] =
      count === 0
        ? value
        : gathering === 'sum'
          ? known + value
          : known + (value - known) / (count + 1)
    counts[index] = count + 1
  }
  return { startMs: beginMs + firstIndex * stepMs, values }
}

/** Times of the first and the last point with a value. */
function timesOf(points: readonly Point[]): [firstMs: number, lastMs: number] {
  let [firstMs, lastMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { atMs, value } of points) {
    if (!Number.isFinite(value)) continue
    firstMs = Math.min(firstMs, atMs)
    lastMs = Math.max(lastMs, atMs)
  }
  return [firstMs, lastMs]
}
