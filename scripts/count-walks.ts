/**
 * Counts through how much of a checkout a trip leads: `node scripts/count-walks.ts [folder]`. Each trip is made once to warm up and
 * then counted: the functions that ran, their files, and the rooms (folders) these stand in, over all processes and threads.
 * Anonymous functions are left out. Two checkouts are compared by counting both with the same script.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const checkout = resolve(process.argv[2] ?? join(import.meta.dirname, '..'))
const recorder = pathToFileURL(join(import.meta.dirname, 'record-calls.ts')).href
const authorization = `Basic ${Buffer.from('admin:correct-horse-battery').toString('base64')}`
const waitMs = 120_000

interface Walk {
  readonly functions: number
  readonly files: number
  readonly rooms: number
}

/** A started Fairlead of the checkout. */
interface Started {
  readonly port: number
  api(
    path: string,
    body?: unknown,
  ): Promise<{ status: number; cookie: string | undefined; body: string }>
  /** What ran, over all threads, while `trip` was made. */
  walk(trip: () => Promise<unknown>): Promise<Walk>
  stop(): Promise<void>
}

async function start(settings: Record<string, string> = {}): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'walks-'))
  const port = await freePort()
  const child = spawn(
    join(checkout, 'node_modules/.bin/node'),
    [join(checkout, 'bin/fairlead.js'), 'serve'],
    {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        NODE_OPTIONS: `--import=${recorder}`,
        CALLS_FOLDER: folder,
        CALLS_OF: checkout,
        FAIRLEAD_ADMIN_PASSWORD: 'correct-horse-battery',
        SERVER_PORT: String(port),
        ...settings,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  await answers(`http://127.0.0.1:${port}/health`)
  const api: Started['api'] = async (path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    return {
      status: answer.status,
      cookie: answer.headers.getSetCookie()[0]?.split(';')[0],
      body: await answer.text(),
    }
  }
  return {
    port,
    api,
    async walk(trip) {
      await called(folder)
      await trip()
      return measure(await called(folder))
    },
    async stop() {
      await runToEnd(
        spawn(
          join(checkout, 'node_modules/.bin/node'),
          [join(checkout, 'bin/fairlead.js'), 'stop', '--all'],
          {
            cwd: folder,
            env: { PATH: process.env['PATH'], HOME: folder, SERVER_PORT: String(port) },
            stdio: 'ignore',
          },
        ),
      )
      child.kill()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function runToEnd(child: ChildProcess): Promise<void> {
  await once(child, 'exit')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

async function answers(url: string): Promise<void> {
  for (const until = Date.now() + waitMs; Date.now() < until; await sleep(50)) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return
  }
  throw new Error(`${url} does not answer`)
}

async function called(folder: string): Promise<string[]> {
  const sockets = readdirSync(folder).filter((name) => /^\d+\.\d+$/.test(name))
  const lists = await Promise.all(
    sockets.map((name) => text(connect(join(folder, name))).catch(() => '[]')),
  )
  return lists.flatMap((list) => JSON.parse(list) as string[])
}

function measure(functions: readonly string[]): Walk {
  const files = new Set(functions.map((one) => one.split(':')[0] as string))
  return {
    functions: new Set(functions).size,
    files: files.size,
    rooms: new Set([...files].map(dirname)).size,
  }
}

/** The second of two equal trips. */
async function second(fairlead: Started, trip: () => Promise<unknown>): Promise<Walk> {
  await trip()
  return fairlead.walk(trip)
}

async function frontOfServices(): Promise<Record<string, Walk>> {
  const service = createServer((request, response) => {
    request.resume()
    const isFailing = request.url?.includes('failing') === true
    response.writeHead(isFailing ? 500 : 200, { 'content-type': 'application/json' })
    response.end(isFailing ? '{"message": "out of order"}' : '[]')
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const fairlead = await start({ SERVICES_FRONT50_BASEURL: baseUrl })
  try {
    const { cookie = '' } = await fairlead.api('/auth/user')
    const read = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${fairlead.port}${path}`, {
        headers: { cookie },
      })
      await answer.arrayBuffer()
    }
    await read('/auth/user')
    return {
      'application’s name, URL → service': await second(fairlead, () =>
        read('/applications/web/pipelineConfigs'),
      ),
      'cookie → user': await second(fairlead, () => read('/auth/user')),
      'service’s error → body': await second(fairlead, () =>
        read('/applications/failing/pipelineConfigs'),
      ),
    }
  } finally {
    service.close()
    await fairlead.stop()
  }
}

async function standalone(): Promise<Record<string, Walk>> {
  const fairlead = await start()
  try {
    const application = { name: 'web', email: 'you@example.com' }
    await fairlead.api('/tasks', {
      application: 'web',
      job: [{ type: 'createApplication', application }],
    })
    await answersWith(fairlead, '/applications/web', (body) => body.includes('you@example.com'))
    const wait = { refId: '1', requisiteStageRefIds: [], type: 'wait', waitTime: 0 }
    await fairlead.api('/pipelines', { application: 'web', name: 'waits', stages: [wait] })
    const place = {
      cloudProvider: 'local',
      account: 'local',
      credentials: 'local',
      region: 'local',
    }
    const program = join(dirname(import.meta.dirname), 'examples/hello/v1')
    const bake = {
      refId: '1',
      requisiteStageRefIds: [],
      type: 'bake',
      cloudProviderType: 'local',
      region: 'local',
    }
    const source = {
      baseOs: 'directory',
      package: 'hello',
      extendedAttributes: { directory: program },
    }
    const cluster = { ...place, application: 'web', capacity: { min: 1, max: 1, desired: 1 } }
    const deploy = { refId: '2', requisiteStageRefIds: ['1'], type: 'deploy', clusters: [cluster] }
    await fairlead.api('/pipelines', {
      application: 'web',
      name: 'ships',
      stages: [{ ...bake, ...source }, deploy],
    })
    return {
      'start → stage has run': await second(fairlead, () => execute(fairlead, 'waits')),
      'bake and deploy → listening process': await second(fairlead, () =>
        execute(fairlead, 'ships'),
      ),
    }
  } finally {
    await fairlead.stop()
  }
}

async function execute(fairlead: Started, pipeline: string): Promise<void> {
  const { body, status } = await fairlead.api(`/pipelines/web/${pipeline}`, {})
  if (status >= 300) throw new Error(`${pipeline} does not start: ${body}`)
  const { ref } = JSON.parse(body) as { ref: string }
  const done = await answersWith(
    fairlead,
    ref,
    (answer) =>
      /"status" ?: ?"(SUCCEEDED|TERMINAL)"/.test(answer.slice(0, 20_000)) &&
      !answer.includes('"RUNNING"'),
  )
  if (done.includes('"TERMINAL"')) throw new Error(`${pipeline} failed: ${done}`)
}

async function answersWith(
  fairlead: Started,
  path: string,
  fits: (body: string) => boolean,
): Promise<string> {
  for (const until = Date.now() + waitMs; Date.now() < until; await sleep(100)) {
    const { body } = await fairlead.api(path)
    if (fits(body)) return body
  }
  throw new Error(`${path} does not become what is expected`)
}

console.table({ ...(await frontOfServices()), ...(await standalone()) })
