/** The embedded infrastructure with real processes, in a data directory of its own. Whatever it starts ends with the test. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { create } from 'tar'
import type { ProcessEntry } from '../../packages/agent/processes.ts'
import type { JsonObject } from '../../packages/base/json/values.ts'
import type { Backend, BackendContext, BackendSettings } from '../../packages/ports/backend.ts'
import { toCaller } from '../../packages/ports/caller.ts'
import type { Infrastructure, Operations } from '../../packages/ports/infrastructure.ts'
import type { CallService, ServiceAnswer } from '../../packages/ports/service-call.ts'
import { BakeryKeys, toBakerySettings } from '../../packages/providers/bakery/setting-keys.ts'
import type { BakerySettings } from '../../packages/providers/bakery/settings.ts'
import { createInfrastructureBackend } from '../../packages/providers/infrastructure/infrastructure.ts'
import {
  InfrastructureKeys,
  toInfrastructureSettings,
} from '../../packages/providers/infrastructure/setting-keys.ts'
import type { InfrastructureSettings } from '../../packages/providers/infrastructure/settings.ts'
import { bakeTimes } from '../../packages/providers/local/bakes/running-bakes.ts'
import type { Builders } from '../../packages/providers/local/builders.ts'
import type { LocalProvider } from '../../packages/providers/local/local.ts'
import { createLocalProvider } from '../../packages/providers/local/provider.ts'
import { endWithTest } from './agent.ts'
import { type Backends, startBackends } from './backends.ts'
import { claimPorts } from './free-port.ts'
import { keyPairOf } from './self-signed.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'
import type { TestEnd } from './test-end.ts'
import { waitFor } from './wait-until.ts'

/** A certificate of `localhost`, and where it is for `local.certificates`. */
export function writeCertificate(t: TestContext) {
  const folder = createFolder('certificate')
  t.after(() => removeFolder(folder))
  const { certificate, keyPem } = keyPairOf('localhost', 'ec')
  const files = {
    'certificate-file': join(folder, 'certificate.pem'),
    'key-file': join(folder, 'key.pem'),
  }
  writeFileSync(files['certificate-file'], certificate)
  writeFileSync(files['key-file'], keyPem)
  return { certificate, files }
}

/** A web program that says who it is, and can be told to be unwell. */
export const webProgram = `
import { mkdirSync } from 'node:fs'
const { createServer } = process.getBuiltinModule('node:http')
const { PORT, HOST, FAIRLEAD_SERVER_GROUP: group, FAIRLEAD_INSTANCE_ID: id, VERSION } = process.env
let isWell = true
const isChosen = () => {
  try {
    return process.env.ONLY_ONE === undefined || mkdirSync(process.env.ONLY_ONE) === undefined
  } catch {
    return false
  }
}
// With ONLY_ONE, a path, the others never listen.
if (!isChosen()) setInterval(() => {}, 1_000_000)
else createServer((request, response) => {
  if (request.url === '/unwell') isWell = false
  response.statusCode = request.url === '/health' && !isWell ? 503 : 200
  response.end(JSON.stringify({ group, id, version: VERSION, path: request.url }))
}).listen(Number(PORT), HOST, () => console.log('listening', id, process.env.GREETING ?? ''))
`

export interface TestInfrastructure {
  readonly backends: Backends
  readonly dataDir: string
  /** The body of a GET that succeeds. */
  read<T = JsonObject>(path: string, user?: string): Promise<T>
  /** Why operations would be refused. */
  preview(operations: Operations, user?: string): Promise<string[] | undefined>
  ask(method: string, path: string, body?: unknown, user?: string): Promise<ServiceAnswer>
  /** Submits operations and waits for the end of their task. */
  run(...operations: readonly JsonObject[]): Promise<JsonObject>
  /** The same, and it succeeds. */
  succeed(...operations: readonly JsonObject[]): Promise<JsonObject>
  /** Asks again until it holds. */
  until<T = JsonObject>(path: string, holds: (body: T) => boolean): Promise<T>
  /** Stores the web program as an image. */
  putImage(name: string, version: string, file?: string, query?: string): Promise<JsonObject>
  /** Processes of instances that exist. */
  processes(): ProcessEntry[]
  /** Commands of bakes. */
  builders(): Builders
  stop(): Promise<void>
}

export interface InfrastructureOptions {
  /** Settings below `local`. */
  readonly local?: JsonObject
  /** Ports that are Fairlead's. */
  readonly ownPorts?: readonly number[]
  /** Settings of artifact accounts, below `artifacts`. */
  readonly artifacts?: JsonObject
  /** Settings of the bakery, below `bakery`. */
  readonly bakery?: JsonObject
  readonly dataDir?: string
  readonly others?: CallService
  readonly now?: () => number
  readonly beside?: readonly Backend[]
  readonly authorization?: boolean
  /** Settings of back ends beside it. */
  readonly settings?: Partial<BackendSettings>
}

export async function startInfrastructure(
  t: TestContext,
  options: InfrastructureOptions = {},
): Promise<TestInfrastructure> {
  const dataDir = options.dataDir ?? createFolder('infrastructure')
  const provider = createLocalProvider({ ...bakeTimes, startMs: 600_000 })
  const infrastructureBackend = createInfrastructureBackend([provider])
  let port: Infrastructure | undefined
  const open = (context: BackendContext) => {
    const opened = infrastructureBackend.open(context)
    port = opened.ports?.infrastructure
    return opened
  }
  const backends = await startBackends(
    t,
    [{ ...infrastructureBackend, open }, ...(options.beside ?? [])],
    {
      dataDir,
      ...(options.others !== undefined && { others: options.others }),
      ...(options.now !== undefined && { now: options.now }),
      settings: {
        infrastructure: toSettings(options),
        bakery: toTestBakery(options.bakery ?? {}, dataDir),
        version: '0.0.0-test',
        authorization: options.authorization === true,
        ...options.settings,
      },
    },
  )
  const processes = endWithTest(t, dataDir, () => backends.stop())
  if (options.dataDir === undefined) t.after(() => removeFolder(dataDir))

  const ask: TestInfrastructure['ask'] = (method, path, body, user) =>
    backends.ask(
      'clouddriver',
      method,
      path,
      body,
      user === undefined ? {} : { 'x-spinnaker-user': user },
    )

  async function read<T>(path: string, user?: string): Promise<T> {
    const { status, body } = await ask('GET', path, undefined, user)
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
    return body as T
  }

  async function run(...operations: readonly JsonObject[]): Promise<JsonObject> {
    const { status, body } = await ask('POST', '/local/ops', operations)
    assert.equal(status, 200, JSON.stringify(body))
    return followTask(read, String((body as JsonObject)['id']))
  }

  async function succeed(...operations: readonly JsonObject[]): Promise<JsonObject> {
    const task = await run(...operations)
    assert.equal((task['status'] as JsonObject)['failed'], false, JSON.stringify(task))
    return task
  }

  async function until<T>(path: string, holds: (body: T) => boolean): Promise<T> {
    let latest: unknown
    return waitFor(
      async () => {
        const { status, body } = await ask('GET', path)
        latest = body
        return status === 200 && holds(body as T) ? (body as T) : undefined
      },
      () => `${path}, which is ${JSON.stringify(latest)}`,
    )
  }

  return {
    backends,
    dataDir,
    ask,
    read,
    run,
    succeed,
    until,
    putImage: (name, version, file, query) => putImage(backends, name, version, file, query),
    processes,
    preview: async (operations, user) =>
      port?.preview(
        operations,
        'local',
        toCaller(user === undefined ? {} : { 'x-spinnaker-user': user }),
      ),
    builders: () => {
      const local = port?.provider('local') as LocalProvider
      return local.builders
    },
    stop: () => backends.stop(),
  }
}

export async function followTask(
  read: (path: string) => Promise<JsonObject>,
  id: string,
): Promise<JsonObject> {
  return waitFor(async () => {
    const task = await read(`/task/${id}`)
    return (task['status'] as JsonObject)['completed'] === true ? task : undefined
  }, `the task ${id}`)
}

/** What the configuration would make of the keys. */
function toSettings({
  local = {},
  artifacts = {},
  ownPorts = [],
}: InfrastructureOptions): InfrastructureSettings {
  const keys = Object.fromEntries([
    ...Object.entries(local).map(([key, value]) => [`local.${key}`, value] as const),
    ...Object.entries(artifacts).map(([key, value]) => [`artifacts.${key}`, value] as const),
  ])
  const report = {
    problem: (key: string, message: string) => assert.fail(`${key}: ${message}`),
    notice: () => {},
    isSet: () => false,
  }
  return toInfrastructureSettings(InfrastructureKeys.parse(keys), report, { ownPorts })
}

/** As of a standalone instance that listens on loopback. */
function toTestBakery(given: JsonObject, dataDir: string): BakerySettings {
  const keys = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [`bakery.${key}`, value]),
  )
  const report = { problem: (key: string, message: string) => assert.fail(`${key}: ${message}`) }
  return toBakerySettings(BakeryKeys.parse(keys), report, { isPrivate: true, dataDir })
}

/** The web program as an archive, with the file that says how it runs. */
export async function packImage(
  version: string,
  file = `command: [${process.execPath}, server.mjs]\nready: { path: /health, intervalSeconds: 0.2 }\nenvironment: { VERSION: '${version}' }\n`,
): Promise<Buffer<ArrayBuffer>> {
  const folder = createFolder('image')
  writeFileSync(join(folder, 'server.mjs'), webProgram)
  writeFileSync(join(folder, 'fairlead-image.yml'), file)
  const chunks: Buffer[] = []
  for await (const chunk of create({ cwd: folder, gzip: true, portable: true }, ['.']))
    chunks.push(chunk as Buffer)
  removeFolder(folder)
  return Buffer.concat(chunks)
}

async function putImage(
  backends: Backends,
  name: string,
  version: string,
  file?: string,
  query = '',
): Promise<JsonObject> {
  const answer = await fetch(
    `${backends.url('clouddriver')}/local/images/${name}/${version}?${query}`,
    {
      method: 'PUT',
      body: await packImage(version, file),
      headers: { 'content-type': 'application/x-tar' },
    },
  )
  const body = (await answer.json()) as JsonObject
  assert.equal(answer.status, 201, JSON.stringify(body))
  return body
}

/** Ports that no account of another test has. */
export async function somePorts(t: TestEnd, count: number): Promise<string> {
  const { first } = await claimPorts(t)
  return `${first}-${first + count - 1}`
}
