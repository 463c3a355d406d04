/** What can be asked of the benchmark on the command line. */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { switches } from '../src/runtime/without.ts'

export interface BenchOptions {
  isShort: boolean
  /** Switched off in `src/runtime/`, for a second gateway in `path`. */
  without: string | undefined
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

const help = `Usage: npm run bench -- [options] [start] [path] [prices] [small] [large] [audit] [lists] [deployments] [overload] [attacks] [soak] [restart] [backends] [gateways] [memory] [console] [kubernetes] [canaries] [canary-judge] [progressive]

  --dist     the bundle in dist/ (npm run build) instead of the sources
  --without NAME  "path" also without this part of src/runtime: ${switches.join(', ')}
  --rate N   requests a second for the second half of "path" (default: half of what Fairlead can answer)
  --minutes N  length of "attacks" (default: 1) and "soak" (default: 10); these, "prices", "overload", "restart", "backends", "gateways", "memory", "console", "kubernetes", "canaries", "canary-judge" and "progressive" run only if they are named
  --short    fewer and shorter measurements, for a first look
  --help     this text

Deployments and Kubernetes are measured in parts that have names of their own: deployments/balancer, deployments/memory,
deployments/times, deployments/traffic; kubernetes/deploy, kubernetes/memory, kubernetes/changes, kubernetes/idle, kubernetes/restart.
For Kubernetes, scripts/install-test-kubernetes.sh builds an API server; what needs it is left out without it.

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
      without: { type: 'string' },
      minutes: { type: 'string' },
      short: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) {
    process.stdout.write(help)
    return undefined
  }
  const { without } = values
  if (without !== undefined && !switches.some((name) => name === without)) {
    throw new Error(`src/runtime has no "${without}" to switch off; it has ${switches.join(', ')}.`)
  }
  if (values.dist === true && !existsSync(new URL('../dist/fairlead.js', import.meta.url))) {
    throw new Error('There is no bundle in dist/ to measure. Make it with: npm run build')
  }
  const short = values.short === true
  return {
    dist: values.dist === true,
    isShort: short,
    without,
    rounds: short ? 2 : 5,
    secondsEach: short ? 1 : 3,
    starts: short ? 3 : 9,
    rate: values.rate === undefined ? undefined : Number(values.rate),
    minutes: values.minutes === undefined ? undefined : Number(values.minutes),
    only: positionals,
  }
}
