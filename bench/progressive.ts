/** Canaries under load: how soon a bad version is stopped, how many requests have met it, what is lost, and that a good one passes. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '../src/json/values.ts'
import { creation, type Deployments, errorOf, sized, startDeployments } from '../test/support/deployments.ts'
import { type LoadCounts, type RunningLoad, startLoad } from '../test/support/steady-load.ts'
import type { TestEnd } from '../test/support/test-end.ts'
import { waitFor } from '../test/support/wait-until.ts'
import { median, print } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { withEnd } from './with-end.ts'

const balancerName = 'shop-front'
const requestsPerSecond = 200
const percent = 5
/** Shares of met requests are counted over this time from the first request that met the canary. */
const periodMs = 60_000
/** Every tenth request fails. */
const bad = { environment: { FAULTY: '10' } }
const check = { type: 'metric', metric: 'errorPercent', bound: 2, minRequests: 40, intervalSeconds: 1 }

export function measureProgressive({ starts }: BenchOptions): Promise<void> {
  return withEnd((t) => runCanaries(t, Math.ceil(starts / 3)))
}

interface Rig {
  readonly fleet: Deployments
  readonly load: RunningLoad
  deploy(steps: readonly JsonObject[], more?: JsonObject): Promise<string>
}

async function runCanaries(t: TestEnd, rounds: number): Promise<void> {
  const fleet = await startDeployments(t, { isProcess: true })
  const port = await fleet.balance(balancerName)
  const settings = { loadBalancers: [balancerName], capacity: sized(2) }
  await fleet.deploy('main', settings)
  const load = startLoad({ port, method: 'GET', clients: 10, rate: requestsPerSecond })
  t.after(() => load.stop())
  await waitFor(() => load.counts.groups.size > 0 || undefined, 'the first answer')
  const deploy: Rig['deploy'] = (steps, more = {}) =>
    fleet.submit(
      creation('main', { ...settings, strategy: 'canary', canary: { steps }, rollback: { destroyLatest: true }, ...more }),
    )
  const rig = { fleet, load, deploy }
  const stopped: Stop[] = []
  for (let count = 0; count < rounds; count++) stopped.push(await stopBad(rig))
  for (let count = 0; count < rounds; count++) {
    await fleet.ends(
      await deploy([
        { percent, checks: [{ ...check, seconds: 10 }] },
        { percent: 50, checks: [{ ...check, seconds: 5 }] },
      ]),
    )
  }
  const { sent, failures } = await load.stop()
  const isOwnFault = ({ status, reason }: LoadCounts['failures'][number]) => status === 500 && reason.includes('"group"')
  print(`Canaries with ${percent} % of ${requestsPerSecond} requests/s; the bad ones fail every tenth`, [
    {
      'bad, stopped': stopped.length,
      'seconds until then, median': median(stopped.map(({ seconds }) => seconds)).toFixed(1),
      'at most': Math.max(...stopped.map(({ seconds }) => seconds)).toFixed(1),
      'met it in a minute, % at most': Math.max(...stopped.map(({ metPercent }) => metPercent)).toFixed(2),
      'good, passed': rounds,
      'requests sent': sent,
      'requests lost': failures.filter((failure) => !isOwnFault(failure)).length,
    },
  ])
}

interface Stop {
  /** From the begin of its share until it had none. */
  readonly seconds: number
  readonly metPercent: number
}

async function stopBad({ fleet, load, deploy }: Rig): Promise<Stop> {
  const [live = ''] = (await fleet.cluster('shop-main')).filter((name) => !name.startsWith('('))
  const met = () => {
    const failed = load.counts.failures.filter(({ reason }) => !reason.includes(`"${live}"`)).length
    return [...load.counts.groups].reduce((sum, [group, count]) => sum + (group === live ? 0 : count), failed)
  }
  const metBefore = met()
  const id = await deploy([{ percent, checks: [{ ...check, seconds: 600 }] }], bad)
  await waitFor(() => met() > metBefore || undefined, 'a request that meets the canary')
  const startMs = performance.now()
  const sentBefore = load.counts.sent
  const view = await fleet.ends(id, 'TERMINAL')
  assert.match(errorOf(view), /was stopped at 5 % of the traffic by step 1 of 1/)
  const stageOf = (begin: string) => view.execution.stages.find(({ name }) => name.startsWith(begin))
  await sleep(Math.max(0, startMs + periodMs - performance.now()))
  return {
    seconds: ((stageOf('Send 0 %')?.endTime ?? 0) - (stageOf('Send 5 %')?.startTime ?? 0)) / 1000,
    metPercent: (100 * (met() - metBefore)) / (load.counts.sent - sentBefore),
  }
}
