/** Workflows of five durable steps on DBOS, in a process of its own: `node bench/dbos-runs.ts URL COUNT` prints what they cost. */
import { cpuUsage } from 'node:process'

/** What is used of it: it is installed for the benchmark alone. */
interface Dbos {
  setConfig(config: { name: string; systemDatabaseUrl: string; logLevel: string }): void
  launch(): Promise<void>
  shutdown(): Promise<void>
  registerWorkflow(work: (n: number) => Promise<number>): (n: number) => Promise<number>
  runStep(work: () => Promise<number>, options: { name: string }): Promise<number>
}

const name: string = '@dbos-inc/dbos-sdk'
const { DBOS } = (await import(name)) as { DBOS: Dbos }
const [url = '', count = '100'] = process.argv.slice(2)
const runsAtATime = 32
const warmUpRuns = 200

const fiveSteps = DBOS.registerWorkflow(async (n) => {
  let value = n
  for (let step = 1; step <= 5; step++)
    value = await DBOS.runStep(async () => value + 1, { name: `step ${step}` })
  return value
})
DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, logLevel: 'error' })
await DBOS.launch()
await run(warmUpRuns)
const [begunMs, before] = [performance.now(), cpuUsage()]
await run(Number(count))
const [ms, { user, system }] = [performance.now() - begunMs, cpuUsage(before)]
await DBOS.shutdown()
console.log(
  JSON.stringify({
    runs: Number(count) + warmUpRuns,
    perSecond: (Number(count) * 1000) / ms,
    cpuMs: (user + system) / 1000 / Number(count),
  }),
)

async function run(total: number): Promise<void> {
  let next = 0
  const work = async () => {
    while (next < total) await fiveSteps(next++)
  }
  await Promise.all(Array.from({ length: runsAtATime }, work))
}
