/** Series of measurements before they are compared: gaps, outliers, and the figures that describe them. */

/** A measurement as kayenta writes it: NaN has no number in JSON. */
export type Measurement = number | string | null

export interface SeriesStats {
  readonly min: number
  readonly max: number
  readonly mean: number
  /** Standard deviation of the sample. */
  readonly std: number
  readonly count: number
}

/** Gaps are left out or, where they mean "nothing happened", count as 0. */
export function withoutGaps(
  values: readonly Measurement[],
  strategy: 'remove' | 'replace',
): Float64Array {
  const numbers = new Float64Array(values.length)
  let count = 0
  for (const value of values) {
    const number = value === null ? Number.NaN : Number(value)
    if (!Number.isNaN(number)) numbers[count++] = number
    else if (strategy === 'replace') numbers[count++] = 0
  }
  return numbers.subarray(0, count)
}

/**
 * Leaves out what lies more than `factor` interquartile ranges beyond the quartiles, but only beyond the first and the last percentile.
 *
 * @param sorted In rising order, as the result.
 */
export function withoutOutliers(sorted: Float64Array, factor: number): Float64Array {
  const [lowQuartile, highQuartile] = [percentile(sorted, 25), percentile(sorted, 75)]
  const reach = factor * (highQuartile - lowQuartile)
  const from = Math.min(percentile(sorted, 1), lowQuartile - reach)
  const to = Math.max(percentile(sorted, 99), highQuartile + reach)
  return sorted.filter((value) => value >= from && value <= to)
}

/** Interpolates between the two nearest values (R's type 7). */
export function percentile(sorted: Float64Array, percent: number): number {
  const position = ((sorted.length - 1) * percent) / 100
  const [below, above] = [sorted[Math.floor(position)] ?? 0, sorted[Math.ceil(position)] ?? 0]
  return below + (position - Math.floor(position)) * (above - below)
}

/** All 0 for a series without values. */
export function describeSeries(values: Float64Array): SeriesStats {
  const count = values.length
  if (count === 0) return { min: 0, max: 0, mean: 0, std: 0, count }
  let [min, max, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0]
  for (const value of values) {
    sum += value
    if (value < min) min = value
    if (value > max) max = value
  }
  const mean = sum / count
  let squares = 0
  for (const value of values) squares += (value - mean) ** 2
  return { min, max, mean, std: count === 1 ? 0 : Math.sqrt(squares / (count - 1)), count }
}
