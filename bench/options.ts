/** What can be asked of the benchmark on the command line. */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'

export interface BenchOptions {
  isShort: boolean
  /** Measure the bundle in `dist/` instead of the sources. */
  dist: boolean
  rounds: number
  /** Length of one measurement of one target. */
  secondsEach: number
  starts: number
  /** Requests a second in the second half of `path`; half of what Fairlead can answer unless given. */
  rate: number | undefined
  /** Length of `attacks` and `soak`. */
  minutes: number | undefined
  /** Names of the parts to run; empty for all. */
  only: string[]
}

const help = `Usage: npm run bench -- [options] [PART...]

  --dist     the bundle in dist/ (npm run build) instead of the sources
  --rate N   requests a second for the second half of "path" (default: half of what Fairlead can answer)
  --minutes N  length of "attacks" (default: 1) and "soak" (default: 10)
  --short    fewer and shorter measurements, for a first look
  --help     this text

Parts: start, path, small, large, audit, lists, engine (definitions, executions, steps, dbos), deployments (balancer, memory, times, traffic), kubernetes (verdicts, account, requests, deploys). Those that run only if they are named:
memory, overload, attacks, soak, restart (apart, standalone, stops). A name such as deployments/times chooses one of several.

Everything runs on loopback, stops by itself, and takes about eight minutes (--short: two). Compare ratios of one run, and
processor time before throughput: what else runs on the machine moves the latter.
`

export function parseOptions(args: string[]): BenchOptions | undefined {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      dist: { type: 'boolean' },
      rate: { type: 'string' },
      minutes: { type: 'string' },
      short: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) {
    process.stdout.write(help)
    return undefined
  }
  if (values.dist === true && !existsSync(new URL('../dist/fairlead.js', import.meta.url))) {
    throw new Error('There is no bundle in dist/ to measure. Make it with: npm run build')
  }
  const short = values.short === true
  return {
    dist: values.dist === true,
    isShort: short,
    rounds: short ? 2 : 5,
    secondsEach: short ? 1 : 3,
    starts: short ? 3 : 9,
    rate: values.rate === undefined ? undefined : Number(values.rate),
    minutes: values.minutes === undefined ? undefined : Number(values.minutes),
    only: positionals,
  }
}
