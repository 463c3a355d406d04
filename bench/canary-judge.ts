/** The judgment of a large canary in one thread, beside reading the same measurements from JSON. */
import { judgeCanary } from '../src/backends/canaries/judge/judge.ts'
import { print } from './measure.ts'
import type { BenchOptions } from './options.ts'

const metrics = 100
/** A day of minutes. */
const points = 1_440
const rounds = { short: 5, long: 20 }

export async function measureCanaryJudge({ isShort }: BenchOptions): Promise<void> {
  const pairs = Array.from({ length: metrics }, (_, index) => {
    // Half of them do not differ, a quarter each is higher or lower.
    const factor = [1, 1.1, 1, 0.9][index % 4] as number
    return { id: `m${index}`, name: `m${index}`, values: { experiment: draw(100 * factor), control: draw(100) } }
  })
  const config = { metrics: pairs.map(({ name }) => ({ name, groups: ['all'] })) }
  const text = JSON.stringify(pairs)
  const timesMs: Record<'judge' | 'read', number[]> = { judge: [], read: [] }
  for (let count = 0; count < rounds[isShort ? 'short' : 'long']; count++) {
    timesMs.read.push(timeMs(() => JSON.parse(text)))
    timesMs.judge.push(timeMs(() => judgeCanary(config, { pass: 95, marginal: 75 }, pairs)))
  }
  const [judge, read] = [timesMs.judge, timesMs.read].map((times) => times.toSorted((one, other) => one - other)) as [
    number[],
    number[],
  ]
  print(`Canary judge: ${metrics} metrics of ${points} points a side, milliseconds of processor time`, [
    { what: 'judge', ...describe(judge) },
    { what: 'read the measurements from JSON', ...describe(read) },
    { what: 'ratio', best: Number(((judge[0] as number) / (read[0] as number)).toFixed(1)) },
  ])
}

function draw(mean: number): number[] {
  return Array.from({ length: points }, () => mean * (0.8 + 0.4 * Math.random()))
}

function timeMs(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

function describe(sorted: readonly number[]): Record<string, number> {
  const at = (share: number): number => Number((sorted[Math.floor((sorted.length - 1) * share)] as number).toFixed(1))
  return { best: at(0), median: at(0.5), worst: at(1) }
}
