/** Mann–Whitney U test: how far one sample lies above another, with a confidence interval. */

/** Two-sided quantiles of the normal distribution, by confidence. */
export const quantiles = { 0.95: 1.9599639845400536, 0.98: 2.3263478740408408 } as const

/** Each is computed when it is asked for: not every verdict needs all three. */
interface Shift {
  /** Bounds of the confidence interval. */
  low(): number
  high(): number
  /** Hodges–Lehmann estimate: the median of all differences between the two samples. */
  estimate(): number
  /** Whether the interval can lie above 0, or below: most often not, which is cheaper to find out than its bounds. */
  mayBeHigher(): boolean
  mayBeLower(): boolean
  /** Whether the ranks differ as they are, by however little. */
  isHigher(): boolean
  isLower(): boolean
}

/** Distinct values in rising order, each with the number of its occurrences, and infinity as their end. */
interface Tally {
  readonly values: Float64Array
  readonly counts: Float64Array
  readonly total: number
  /** What the values that occur more than once reduce the variance by. */
  readonly ties: number
}

/** Roots are found to half of this, as R does; results differ from an exact interval by no more. */
const rootTolerance = 1e-4
const maxSteps = 1_001

/**
 * The shift of a canary against its baseline, by inverting the asymptotic rank sum test with corrections for ties and continuity,
 * as `wilcox.test(canary, baseline, conf.int = TRUE, exact = FALSE)` of R computes it.
 *
 * @param canary In rising order, without NaN, as `baseline`; neither is empty.
 * @param quantile One of `quantiles`.
 * @throws {RangeError} (also later) at a shift that makes all values the same
 */
export function shiftBetween(
  canary: Float64Array,
  baseline: Float64Array,
  quantile: number,
): Shift {
  if (isConstant(canary) && isConstant(baseline)) {
    // Two constants have no spread to test: the shift is their difference.
    const difference = first(canary) - first(baseline)
    const all = () => difference
    return {
      low: all,
      high: all,
      estimate: all,
      mayBeHigher: () => difference > 0,
      mayBeLower: () => difference < 0,
      isHigher: () => difference > 0,
      isLower: () => difference < 0,
    }
  }
  const [upper, lower] = [tally(canary), tally(baseline)]
  const statistic = (shift: number): number => standardizedRankSum(upper, lower, shift)
  const from = first(canary) - last(baseline)
  const to = last(canary) - first(baseline)
  const [atFrom, atTo] = [statistic(from), statistic(to)]
  const rootAt = (level: number) =>
    findRoot(
      (shift) => statistic(shift) - level,
      { x: from, y: atFrom - level },
      { x: to, y: atTo - level },
    )
  const boundAt = (level: number): number => {
    if (atFrom - level <= 0) return from
    return atTo - level >= 0 ? to : rootAt(level)
  }
  return {
    low: () => boundAt(quantile),
    high: () => boundAt(-quantile),
    estimate: () => rootAt(0),
    mayBeHigher: () => from > 0 || statistic(-2 * rootTolerance) >= quantile,
    mayBeLower: () => to < 0 || statistic(2 * rootTolerance) <= -quantile,
    isHigher: () => statistic(0) >= quantile,
    isLower: () => statistic(0) <= -quantile,
  }
}

/** Share of the pairs of both samples in which the canary is higher; equal ones count half. Takes samples in rising order. */
export function shareOfHigher(canary: Float64Array, baseline: Float64Array): number {
  return countPairs(tally(canary), tally(baseline), 0).higher / (canary.length * baseline.length)
}

export function isConstant(sorted: Float64Array): boolean {
  return first(sorted) === last(sorted)
}

function first(sorted: Float64Array): number {
  return sorted[0] as number
}

function last(sorted: Float64Array): number {
  return sorted[sorted.length - 1] as number
}

function tally(sorted: Float64Array): Tally {
  const values = new Float64Array(sorted.length + 1)
  const counts = new Float64Array(sorted.length)
  let size = 0
  for (const value of sorted) {
    if (size === 0 || values[size - 1] !== value) values[size++] = value
    counts[size - 1] = (counts[size - 1] as number) + 1
  }
  values[size] = Number.POSITIVE_INFINITY
  return {
    values: values.subarray(0, size + 1),
    counts,
    total: sorted.length,
    ties: counts.reduce((sum, count) => sum + tiesOf(count), 0),
  }
}

/** Most values occur once. A product is faster than a power. */
function tiesOf(count: number): number {
  return count === 1 ? 0 : count * count * count - count
}

/** Distance of the rank sum from what equal samples would have, in standard deviations, once the canary is lowered by `shift`. */
function standardizedRankSum(canary: Tally, baseline: Tally, shift: number): number {
  const pairs = canary.total * baseline.total
  const all = canary.total + baseline.total
  const { higher, ties } = countPairs(canary, baseline, shift)
  const distance = higher - pairs / 2
  const deviation = Math.sqrt((pairs / 12) * (all + 1 - ties / (all * (all - 1))))
  if (deviation === 0)
    throw new RangeError('No confidence interval exists: all values are the same.')
  return (distance - Math.sign(distance) / 2) / deviation
}

/**
 * One walk over both samples instead of ranking them: with sorted samples a judgment of long series stays linear.
 * Values may also become equal by rounding, once they are lowered.
 */
function countPairs(
  canary: Tally,
  baseline: Tally,
  shift: number,
): { higher: number; ties: number } {
  const { values: highs, counts: highCounts } = canary
  const { values: lows, counts: lowCounts } = baseline
  let [higher, below, ties] = [0, 0, canary.ties + baseline.ties]
  let [high, low] = [0, 0]
  let lowered = (highs[0] as number) - shift
  let value = lows[0] as number
  while (lowered !== value || value !== Number.POSITIVE_INFINITY) {
    if (value < lowered) {
      below += lowCounts[low++] as number
      value = lows[low] as number
      continue
    }
    const at = lowered
    let ofCanary = 0
    for (; lowered === at; lowered = (highs[high] as number) - shift) {
      const count = highCounts[high++] as number
      if (ofCanary > 0) ties += tiesOf(ofCanary + count) - tiesOf(ofCanary) - tiesOf(count)
      ofCanary += count
    }
    higher += ofCanary * below
    if (value !== at) continue
    const ofBaseline = lowCounts[low++] as number
    value = lows[low] as number
    higher += (ofCanary * ofBaseline) / 2
    below += ofBaseline
    ties += tiesOf(ofCanary + ofBaseline) - tiesOf(ofCanary) - tiesOf(ofBaseline)
  }
  return { higher, ties }
}

interface Point {
  readonly x: number
  readonly y: number
}

/** Brent's method with the steps of R's `uniroot`: the statistic is a staircase, so other steps would find other roots. */
function findRoot(of: (x: number) => number, from: Point, to: Point): number {
  if (from.y === 0) return from.x
  if (to.y === 0) return to.x
  let [before, best, opposite] = [from, to, from]
  for (let step = 0; step < maxSteps; step++) {
    const lastMove = best.x - before.x
    if (Math.abs(opposite.y) < Math.abs(best.y)) [before, best, opposite] = [best, opposite, best]
    const tolerance = 2 * Number.EPSILON * Math.abs(best.x) + rootTolerance / 2
    const half = (opposite.x - best.x) / 2
    if (Math.abs(half) <= tolerance || best.y === 0) return best.x
    const improves = Math.abs(lastMove) >= tolerance && Math.abs(before.y) > Math.abs(best.y)
    const move = improves ? interpolate({ before, best, opposite }, lastMove, tolerance) : half
    const x = best.x + (Math.abs(move) >= tolerance ? move : move > 0 ? tolerance : -tolerance)
    ;[before, best] = [best, { x, y: of(x) }]
    if (Math.sign(best.y) * Math.sign(opposite.y) > 0) opposite = before
  }
  return best.x
}

/** A step by a line through two points or an inverse parabola through three; half of the way where that leads too far. */
function interpolate(
  { before, best, opposite }: { before: Point; best: Point; opposite: Point },
  lastMove: number,
  tolerance: number,
): number {
  const width = opposite.x - best.x
  const ratio = best.y / before.y
  let dividend = width * ratio
  let divisor = 1 - ratio
  if (before.x !== opposite.x) {
    const [q, r] = [before.y / opposite.y, best.y / opposite.y]
    dividend = ratio * (width * q * (q - r) - (best.x - before.x) * (r - 1))
    divisor = (q - 1) * (r - 1) * (ratio - 1)
  }
  if (dividend > 0) divisor = -divisor
  else dividend = -dividend
  const isShort =
    dividend < 0.75 * width * divisor - Math.abs(tolerance * divisor) / 2 &&
    dividend < Math.abs((lastMove * divisor) / 2)
  return isShort ? dividend / divisor : width / 2
}
