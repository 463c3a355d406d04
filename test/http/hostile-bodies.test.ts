/** Whatever a body holds, the answer is no failure of the gateway, and others are served meanwhile. Every service is embedded. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { runGateway } from '../support/gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'

const seed = 20_260_101
const casesPerPath = 25

type Dice = (sides: number) => number

/** Pseudo-random, the same in every run. */
function createDice(from: number): Dice {
  let state = from
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

const wait = { type: 'wait', name: 'Wait', waitTime: 0, refId: '1', requisiteStageRefIds: [] }
const pipeline = {
  application: 'demo',
  name: 'hostile',
  id: 'p1',
  stages: [
    wait,
    {
      type: 'evaluateVariables',
      refId: '2',
      requisiteStageRefIds: ['1'],
      variables: [{ key: 'a', value: '${1 + 1}' }],
    },
  ],
  triggers: [
    { type: 'webhook', source: 'ci', enabled: true, payloadConstraints: { branch: 'ma.*' } },
  ],
  parameterConfig: [{ name: 'p', default: 'x' }],
  expectedArtifacts: [
    { id: 'a', matchArtifact: { type: 'docker/image', name: 'web' }, usePriorArtifact: true },
  ],
  notifications: [{ type: 'email', address: 'a@example.com', when: ['pipeline.failed'] }],
}
const push = {
  ref: 'refs/heads/main',
  after: 'abc',
  repository: {
    name: 'repo',
    owner: { login: 'Org' },
    full_name: 'Org/repo',
    project: { key: 'P' },
    slug: 'repo',
  },
  commits: [{ added: ['a'], modified: ['b'] }],
  changes: [{ refId: 'refs/heads/main', ref: { displayId: 'main' }, toHash: 'abc' }],
  push: { changes: [{ new: { name: 'main', target: { hash: 'abc' } } }] },
  object_kind: 'push',
  project: {
    name: 'repo',
    namespace: 'Org',
    web_url: 'https://example.com/Org/repo',
    path_with_namespace: 'Org/repo',
  },
}
/** What each path is made for; the cases are variations of it. */
const templates: Readonly<Record<string, unknown>> = {
  '/webhooks/webhook/ci': {
    branch: 'main',
    parameters: { p: 1 },
    artifacts: [{ type: 'docker/image', name: 'web' }],
  },
  '/webhooks/git/github': push,
  '/webhooks/git/bitbucket': push,
  '/webhooks/cdevents/ci': { customData: {}, context: { id: '1' }, subject: { id: '2' } },
  '/notifications/callbacks/slack': { payload: '{"actions":[]}' },
  '/tasks': {
    application: 'demo',
    description: 'd',
    job: [
      { ...wait, user: 'u' },
      { type: 'savePipeline', pipeline },
    ],
  },
  '/pipelines': pipeline,
  '/pipelines/start': {
    ...pipeline,
    trigger: { type: 'manual', parameters: { p: '1' }, artifacts: [] },
  },
}

const oddTexts = [
  '',
  ' ',
  '${',
  '${#stage(1)}',
  '${{}.x.y}',
  '../..',
  '\u0000',
  '\ud800',
  '💥',
  'constructor',
  'x'.repeat(5000),
  '1e999',
]

function createOddity(dice: Dice): unknown {
  switch (dice(9)) {
    case 0:
      return null
    case 1:
      return oddTexts[dice(oddTexts.length)]
    case 2:
      return [0, -1, 1.5, 2 ** 53, 1e300][dice(5)]
    case 3:
      return dice(2) === 0
    case 4:
      return []
    case 5:
      return {}
    case 6:
      return [[[]], [null], [wait, wait]][dice(3)]
    case 7:
      return Object.fromEntries(oddTexts.map((text) => [text, text]))
    default:
      return Array.from({ length: 200 }, () => wait)
  }
}

/** A copy in which one value, at any depth, is another. */
function vary(value: unknown, dice: Dice): unknown {
  const inner = typeof value === 'object' && value !== null ? Object.keys(value) : []
  if (inner.length === 0 || dice(4) === 0) return createOddity(dice)
  const key = inner[dice(inner.length)] as string
  const copy = (
    Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }
  ) as Record<string, unknown>
  if (dice(8) === 0) delete copy[key]
  else copy[key] = vary(copy[key], dice)
  return copy
}

/** Every member once as something that fits nowhere. */
function createMisfits(template: unknown): string[] {
  return Object.keys(template as object).flatMap((key) =>
    [null, {}, 2 ** 53, oddTexts].map((value) =>
      JSON.stringify({ ...(template as object), [key]: value }),
    ),
  )
}

function createBody(template: unknown, dice: Dice): { bytes: string | Buffer; type: string } {
  const json = { type: 'application/json' }
  const text = JSON.stringify(template)
  const depth = 400 + dice(300)
  switch (dice(18)) {
    case 0:
      return { bytes: Buffer.from(Array.from({ length: dice(300) }, () => dice(256))), ...json }
    case 1:
      return { bytes: text.slice(0, dice(text.length)), ...json }
    case 2:
      return { bytes: '[{"a":'.repeat(depth) + '}]'.repeat(depth), ...json }
    case 3:
      return {
        bytes: `{"a":${'['.repeat(depth)}${']'.repeat(depth)},"job":[{"type":"wait"}],"application":"demo"}`,
        ...json,
      }
    case 4:
      return { bytes: `{"a":1,${'"a":{},'.repeat(1000)}${text.slice(1)}`, ...json }
    case 5:
      return { bytes: `{"n":${'9'.repeat(500 + dice(1000))},${text.slice(1)}`, ...json }
    case 6:
      return { bytes: Buffer.from(text, 'utf16le'), ...json }
    case 7:
      return { bytes: gzipSync(text), ...json }
    case 8:
      return { bytes: `a: &a [1,2]\nb: [*a, *a]\nc: ${text}\n`, type: 'application/x-yaml' }
    case 9:
      return {
        bytes: text,
        type: ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ';'][
          dice(4)
        ] as string,
      }
    case 10:
      return { bytes: `[${'{},'.repeat(60_000)}{}]`, ...json }
    default:
      return { bytes: JSON.stringify(vary(vary(template, dice), dice)) ?? 'null', ...json }
  }
}

async function startEmbedded(t: TestContext) {
  const failures: unknown[] = []
  const { url } = await runGateway(
    t,
    { 'task-service': { maxNumberOfPolls: 3, defaultIntervalBetweenPolls: 20 } },
    {
      embedded: true,
      ownThread: true,
      log: (line) => void (Number(line['level']) >= 50 && failures.push(line)),
    },
  )
  return { url, failures }
}

test('no body makes the gateway or a back end fail', async (t) => {
  const { url, failures } = await startEmbedded(t)
  for (const [path, template] of Object.entries(templates)) {
    const dice = createDice(seed)
    const misfits = createMisfits(template).map((bytes) => ({ bytes, type: 'application/json' }))
    const varied = Array.from({ length: casesPerPath }, () => createBody(template, dice))
    for (const [number, { bytes, type }] of [...misfits, ...varied].entries()) {
      const answer = await fetch(url + path, {
        method: 'POST',
        body: typeof bytes === 'string' ? bytes : new Uint8Array(bytes),
        headers: { 'content-type': type },
      })
      const text = await answer.text()
      const sent = bytes.toString().slice(0, 300)
      assert.ok(
        answer.status < 500,
        `${path}, case ${number}: ${answer.status} ${text} for ${type} ${sent}`,
      )
      assert.deepEqual(failures, [], `${path}, case ${number}: ${sent}`)
    }
    assert.equal((await fetch(`${url}/health`)).status, 200)
    assert.equal((await fetch(`${url}/pipelineConfigs`)).status, 200)
  }
})

test('ten hostile bodies do not block other requests', async (t) => {
  const { url } = await startEmbedded(t)
  const readOthers = async () => {
    for (const path of ['/health', '/pipelineConfigs', '/notifications/application/demo']) {
      assert.equal((await fetch(url + path)).status, 200, path)
    }
  }
  const allowed = `{"list":[${'{},'.repeat(49_000)}{}]}`
  const excessive = `[${'{},'.repeat(3_000_000)}{}]`.slice(0, 1_000_000)
  const connections = await Promise.all(Array.from({ length: 10 }, () => openRawConnection(t, url)))
  for (const [index, { send }] of connections.entries()) {
    const body = index % 2 === 0 ? allowed : excessive
    send(
      `POST /webhooks/webhook/ci HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    )
    send(body.slice(0, -1))
  }
  await readOthers()
  const refused = await Promise.all(
    connections.filter((_, index) => index % 2 === 1).map((one) => one.next()),
  )
  assert.deepEqual(
    refused.map(({ status }) => status),
    Array(5).fill(413),
  )
  await readOthers()

  // What the gateway reads at last is judged at once; a read that is asked for afterwards waits for no more than that.
  const accepted = connections.filter((_, index) => index % 2 === 0)
  for (const { send } of accepted) send('}')
  const answers = accepted.map((one) => one.next())
  await readOthers()
  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    Array(5).fill(200),
  )
})
