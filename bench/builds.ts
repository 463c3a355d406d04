/** Builds and triggers of this machine: from a push to a served version, polled repositories, a full queue, and a fast log. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopAgent } from '../src/agent/stop-agent.ts'
import { fieldAt, type JsonObject, listOf, objectOf, objectsOf } from '../src/json/values.ts'
import { claimPorts } from '../test/support/free-port.ts'
import { startGitServer } from '../test/support/git-server.ts'
import type { TestEnd } from '../test/support/test-end.ts'
import { load } from './load.ts'
import { median, print, type Row, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { createApplication, post, read, startWithSettings, untilSucceeded } from './standalone.ts'
import type { Scratch, Target } from './targets.ts'
import { withEnd } from './with-end.ts'

const application = 'bench'
const rounds = 5
const polledRepositories = 50
const queuedBuilds = 100
const logSeconds = 20
const megabytesPerSecond = 10

interface Builder {
  readonly gateway: Target
  readonly dir: string
}

async function withBuilder(
  options: BenchOptions,
  scratch: Scratch,
  local: JsonObject,
  use: (builder: Builder) => Promise<void>,
  more: JsonObject = {},
): Promise<void> {
  const dir = scratch.dir('fairlead')
  const gateway = await startWithSettings(options, dir, { builds: { local }, ...more })
  try {
    await createApplication(gateway, application)
    await use({ gateway, dir })
  } finally {
    await gateway.process.stop()
    await stopAgent(join(dir, 'data'), { info() {}, warn() {}, error() {} })
  }
}

/** A repository whose only job publishes an image without testing anything. */
function createRepository(dir: string): { readonly path: string; push(version: number): string } {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Bench', '-c', 'user.email=bench@example.com', ...args], { cwd: dir, encoding: 'utf8' })
  git('init', '--quiet', '--initial-branch=main', '.')
  const program = "import { createServer } from 'node:http'\nimport { version } from './version.mjs'\n"
  writeFileSync(
    join(dir, 'server.mjs'),
    `${program}createServer((_, answer) => answer.end(version)).listen(process.env.PORT, process.env.HOST)\n`,
  )
  writeFileSync(join(dir, 'fairlead-image.yml'), 'command: [node, server.mjs]\n')
  return {
    path: dir,
    push: (version) => {
      writeFileSync(join(dir, 'version.mjs'), `export const version = '${version}'\n`)
      git('add', '--all')
      git('commit', '--quiet', '--message', String(version))
      return git('rev-parse', 'HEAD').trim()
    },
  }
}

/** What a run costs beside the build itself, from the webhook to the first response of the new version. */
export async function measurePush(options: BenchOptions, scratch: Scratch): Promise<void> {
  const repository = createRepository(scratch.dir('repository'))
  repository.push(0)
  const job = { name: 'shop', application, repository: { url: repository.path }, steps: ['true'], publish: { image: 'shop' } }
  await withBuilder(options, scratch, { jobs: [job] }, async ({ gateway }) => {
    const port = await balance(gateway)
    await post(gateway, '/pipelines', releasePipeline(repository.path))
    const beside: number[] = []
    const builds: number[] = []
    for (let version = 1; version <= rounds; version++) {
      const commit = repository.push(version)
      const startMs = performance.now()
      await tellOf(gateway, repository.path, commit)
      while ((await served(port)) !== String(version)) await sleep(10)
      const wholeMs = performance.now() - startMs
      const [run] = listOf(await read(gateway, `/applications/${application}/pipelines?limit=1`))
      const [build] = objectsOf(objectOf(run)['stages'])
      const buildMs = Number(fieldAt(build, 'context', 'buildInfo', 'duration'))
      builds.push(buildMs)
      beside.push(wholeMs - buildMs)
    }
    print('From a push to the first response of the new version', [
      {
        'the build itself, median ms': round(median(builds)),
        'beside it, median ms': round(median(beside)),
        'longest ms': round(Math.max(...beside)),
      },
    ])
  })
}

async function balance(gateway: Target): Promise<number> {
  // Those of the account are for its instances.
  const { last: port } = await claimPorts()
  const listeners = [{ externalProtocol: 'HTTP', externalPort: port, internalPort: port }]
  const place = { cloudProvider: 'local', credentials: 'local', region: 'local' }
  const job = [{ type: 'upsertLoadBalancer', ...place, name: 'bench-front', healthCheck: `HTTP:${port}/`, listeners }]
  await untilSucceeded(gateway, await post(gateway, '/tasks', { application, description: 'Balance', job }))
  return port
}

function releasePipeline(repository: string): JsonObject {
  const cluster = { cloudProvider: 'local', account: 'local', region: 'local', application }
  const capacity = { min: 1, max: 1, desired: 1 }
  return {
    application,
    name: 'release',
    triggers: [{ type: 'git', source: 'git', repository, branch: 'main', enabled: true }],
    stages: [
      { refId: '1', type: 'jenkins', name: 'Build', master: 'local', job: 'shop', parameters: { revision: '${trigger.hash}' } },
      {
        ...{ refId: '2', requisiteStageRefIds: ['1'], type: 'deploy', name: 'Deploy' },
        clusters: [{ ...cluster, capacity, loadBalancers: ['bench-front'], strategy: 'redblack', maxRemainingAsgs: 2 }],
      },
    ],
  }
}

async function tellOf(gateway: Target, repository: string, after: string): Promise<void> {
  const body = { repository, ref: 'refs/heads/main', before: '0'.repeat(40), after }
  await post(gateway, '/webhooks/git/git', body)
}

async function served(port: number): Promise<string | undefined> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    (answer) => answer.text(),
    () => undefined,
  )
}

/** Processor time of polls over HTTP, at their usual interval. */
export async function measurePolls(options: BenchOptions, scratch: Scratch): Promise<void> {
  const restrictions = { 'user-configured-url-restrictions': { allowedAddresses: ['127.0.0.1/32'] } }
  await withEnd((t) =>
    withBuilder(
      options,
      scratch,
      {},
      async ({ gateway }) => {
        const repository = await startGitServer(t)
        repository.commit({ file: '1' })
        const copies = await startCopies(t, repository.url)
        const idle = await shareOfCore(gateway)
        for (let count = 0; count < polledRepositories; count++) {
          const trigger = { type: 'git', source: 'git', repository: `${copies}/${count}.git`, branch: 'main', poll: true }
          const pipeline = { application, name: `polled-${count}`, triggers: [{ ...trigger, enabled: true }], stages: [] }
          await post(gateway, '/pipelines', pipeline)
        }
        const before = repository.authorizations.length
        await sleep(30_000)
        const polled = await shareOfCore(gateway)
        print(`${polledRepositories} polled repositories, for two minutes`, [
          {
            'idle, % of a core': (100 * idle).toFixed(2),
            'polling, % of a core': (100 * polled).toFixed(2),
            requests: repository.authorizations.length - before,
          },
        ])
      },
      restrictions,
    ),
  )
}

/** Any number of repositories, which are all the one that is given. @returns the beginning of their addresses */
async function startCopies(t: TestEnd, url: string): Promise<string> {
  const server = createServer((asked, response) => {
    const path = (asked.url ?? '').replace(/^\/\d+\.git/, '')
    const { method = 'GET', headers } = asked
    const passed = request(`${url}${path}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    asked.pipe(passed)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function shareOfCore({ process }: Target): Promise<number> {
  const [beforeUs, beforeMs] = [process.cpuUs(), performance.now()]
  await sleep(120_000)
  return (process.cpuUs() - beforeUs) / 1000 / (performance.now() - beforeMs)
}

/** Reads of the API while builds wait for their turn. */
export async function measureQueue(options: BenchOptions, scratch: Scratch): Promise<void> {
  const job = { name: 'slow', application, steps: ['sleep 3'] }
  await withBuilder(options, scratch, { jobs: [job] }, async ({ gateway }) => {
    const stages = [{ refId: '1', type: 'jenkins', name: 'Build', master: 'local', job: 'slow' }]
    await post(gateway, '/pipelines', { application, name: 'slow', stages })
    const rows: Row[] = []
    const measureReads = async (when: string) => {
      for (const path of [
        `/applications/${application}/pipelines?limit=5`,
        '/v3/builds/local/jobs',
        `/applications/${application}`,
      ]) {
        const { p50, p99 } = await load({
          port: gateway.port,
          headers: gateway.headers,
          path,
          connections: 2,
          seconds: 20,
          settleSeconds: 5,
          rate: 20,
        })
        rows.push({ when, path, 'p50 ms': round(p50), 'p99 ms': round(p99) })
      }
    }
    await measureReads('idle')
    for (let count = 0; count < queuedBuilds; count++) await post(gateway, `/pipelines/${application}/slow`, {})
    await measureReads(`${queuedBuilds} builds queued`)
    print('Reads while builds wait', rows)
  })
}

/** A build that writes numbered lines; each of them has to be in its log. */
export async function measureLog(options: BenchOptions, scratch: Scratch): Promise<void> {
  const program = `
    const line = 'x'.repeat(989)
    let count = 0
    const startMs = performance.now()
    const write = () => {
      const due = Math.min((performance.now() - startMs) * ${megabytesPerSecond}, ${logSeconds * 1000 * megabytesPerSecond})
      let text = ''
      while (count < due) text += String(count++).padStart(10, '0') + line + '\\n'
      process.stdout.write(text, () => due < ${logSeconds * 1000 * megabytesPerSecond} && setTimeout(write, 20))
    }
    write()`
  const job = { name: 'loud', application, steps: [{ run: ['node', '-e', program] }] }
  await withBuilder(options, scratch, { jobs: [job], 'log-size': '512MB' }, async ({ gateway, dir }) => {
    const stages = [{ refId: '1', type: 'jenkins', name: 'Build', master: 'local', job: 'loud' }]
    await post(gateway, '/pipelines', { application, name: 'loud', stages })
    const ended = post(gateway, `/pipelines/${application}/loud`, {}).then((ref) => untilSucceeded(gateway, ref))
    let agentPeak = 0
    const watching = setInterval(() => {
      agentPeak = Math.max(agentPeak, agentMemory(gateway, dir))
    }, 500)
    await ended.finally(() => clearInterval(watching))
    const log = execFileSync('sh', ['-c', 'cat data/builds/kept/*/log'], { cwd: dir, maxBuffer: 1024 ** 3 })
    const numbers = new Set([...log.toString('latin1').matchAll(/^(\d{10})x{989}$/gm)].map(([, number]) => number))
    const written = logSeconds * 1000 * megabytesPerSecond
    print(`A log of ${megabytesPerSecond} MB/s for ${logSeconds} s`, [
      { 'lines written': written, 'lines missing': written - numbers.size, 'agent, peak MiB': round(agentPeak) },
    ])
  })
}

function agentMemory({ process: { memory } }: Target, dir: string): number {
  try {
    const log = readFileSync(join(dir, 'data', 'agent.log'), 'utf8')
    return memory(Number(/"the agent runs","pid":(\d+)/.exec(log)?.[1])).now
  } catch {
    return 0
  }
}
