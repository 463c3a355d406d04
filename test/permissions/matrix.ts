/** The arrangement of the matrix: services that know one application and change nothing, and callers who are logged in by token. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import type { Operation } from '../../packages/gateway/operations/operation.ts'
import { createQueryRules } from '../../packages/gateway/operations/serving/parse-query.ts'
import { Browser } from '../login/browser.ts'
import { createToken } from '../login/tokens/support.ts'
import { runGateway } from '../support/gateway.ts'

export const callers = [
  'anonymous',
  'outsider',
  'reader',
  'executor',
  'writer',
  'administrator',
  'robot',
  'read-only token',
] as const
export type Caller = (typeof callers)[number]

/** What came of a request: sent to the login, refused, or let through, whatever the service then said. */
export type Outcome = 'login' | 'refused' | 'allowed'

const password = 'correct horse'
const restricted = {
  READ: ['readers'],
  EXECUTE: ['executors'],
  WRITE: ['writers'],
}
const definition = { id: 'main', name: 'main', application: 'web', stages: [], triggers: [] }
const task = { id: '1', status: 'SUCCEEDED', application: 'web', name: 'a task', variables: [] }
const everything = ['everyone', 'readers', 'executors', 'writers']

/** Answers of every service by path; anything else is an empty object. */
const answers: readonly [RegExp, unknown][] = [
  [
    /^\/permissions\/applications$/,
    [
      ...['web', 'spinnakerplugins'].map((name) => ({ name, permissions: restricted })),
      { name: 'vault', permissions: { READ: ['nobody'], EXECUTE: ['nobody'], WRITE: ['nobody'] } },
    ],
  ],
  [/^\/serviceAccounts/, [{ name: 'robot', memberOf: everything }]],
  [
    /^\/credentials$/,
    [{ name: 'prod', type: 'kubernetes', permissions: { READ: ['readers'], WRITE: ['writers'] } }],
  ],
  [/^\/buildServices$/, [{ name: 'ci', permissions: { READ: ['readers'], WRITE: ['writers'] } }]],
  [/^\/(?:pipelines|strategies)\/[^/]+\/(?:history|get)$/, [definition]],
  [/^\/pipelines\/web\/name\//, definition],
  [/^\/(?:pipelines\/web|strategies|strategies\/web)$/, [definition]],
  [/^\/canaryConfig\/main$/, { name: 'main', applications: ['web'] }],
  [/^\/pipelineTemplates$/, [{ id: 'main', metadata: { scopes: ['web'] } }]],
  [/^\/tasks\/|^\/pipelines\//, { ...task, ...definition, status: 'SUCCEEDED' }],
  [/^\/(?:ops|orchestrate)/, { ref: '/tasks/1' }],
]

export interface Matrix {
  /** One request of the caller. @param query Parameters instead of the usual ones */
  outcome(operation: Operation, caller: Caller, query?: Query): Promise<Outcome>
  /** Whether a token that is limited to an application reaches an operation that is about `web`. */
  isReached(operation: Operation, application: 'web' | 'shop'): Promise<boolean>
}

type Query = Readonly<Record<string, string>>

export async function startMatrix(t: TestContext, { fiat = true } = {}): Promise<Matrix> {
  const baseUrl = await startServices(t)
  const names = [
    'orca',
    'front50',
    'clouddriver',
    'igor',
    'echo',
    'rosco',
    'kayenta',
    'keel',
    'mine',
    'swabbie',
  ] as const
  const services = Object.fromEntries(names.map((name) => [name, { enabled: true, baseUrl }]))
  const { url, dataDir } = await runGateway(t, {
    permissions: { enforce: 'gateway' },
    'api-tokens': { enabled: true, 'allowed-minting-roles': ['everyone'] },
    'service-accounts': [{ name: 'robot', memberOf: everything }],
    fairlead: { admin: { password } },
    services: {
      ...services,
      fiat: fiat ? { enabled: true, baseUrl: 'embedded' } : { enabled: false },
    },
  })
  const tokens = await createTokens(url, dataDir, fiat)
  const send = (operation: Operation, token: string | undefined, query: Query) => {
    const { method } = operation
    const headers = {
      ...(token && { 'x-spinnaker-token': token }),
      ...(operation.body && { 'content-type': 'application/json' }),
    }
    const body = operation.body === undefined ? undefined : JSON.stringify(bodyOf(operation))
    return fetch(`${url}${addressOf(operation, query)}`, {
      method,
      headers,
      redirect: 'manual',
      ...(body && { body }),
    })
  }
  /** A machine under load may take too long to decide, which says nothing about rights. */
  const ask = async (operation: Operation, caller: Caller | Limit, query: Query = {}) => {
    for (let attempt = 1; ; attempt++) {
      const answer = await send(operation, tokens.get(caller), query)
      const text = await readWhole(answer)
      if (!undecided.test(text)) return { answer, text }
      assert.ok(attempt < 20, `${operation.id}: ${text}`)
    }
  }
  return {
    async outcome(operation, caller, query) {
      const { answer } = await ask(operation, caller, query)
      const { status } = answer
      if (status === 401 || (status === 302 && answer.headers.get('location')?.endsWith('/login')))
        return 'login'
      return status === 403 ? 'refused' : 'allowed'
    },
    async isReached(operation, application) {
      const { answer, text } = await ask(operation, application)
      assert.notEqual(answer.status, 401, `${operation.id}: ${text}`)
      // HEAD has no body that would tell.
      if (operation.method === 'HEAD') return answer.status !== 403
      // A list of audit events names the refusals of others.
      return answer.status !== 403 || !text.includes('TOKEN_LIMITED')
    },
  }
}

const undecided = /REQUEST_SHED|PERMISSIONS_UNAVAILABLE|UPSTREAM_TIMEOUT|UPSTREAM_OVERLOADED/

/** An event stream that has begun goes on. */
async function readWhole(answer: Response): Promise<string> {
  if (answer.headers.get('content-type') !== 'text/event-stream') return answer.text()
  await answer.body?.cancel()
  return ''
}

async function startServices(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    const path = (request.url ?? '').split('?')[0] as string
    const known = answers.find(([pattern]) => pattern.test(path))?.[1] ?? {}
    const body = path.endsWith('/get') && Array.isArray(known) ? known[0] : known
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  t.after(() => server.closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Limit = 'web' | 'shop'

/** Those of the administrator are limited to one application each; without a permission service a writer may do all as well. */
async function createTokens(
  url: string,
  dataDir: string,
  fiat: boolean,
): Promise<Map<Caller | Limit, string>> {
  const roles = {
    outsider: ['everyone'],
    reader: ['everyone', 'readers'],
    executor: everything.slice(0, 3),
    writer: everything,
  }
  const users = openUsers(dataDir)
  for (const [name, held] of Object.entries(roles)) await users.add(name, password, held)
  users.close()
  const tokens = new Map<Caller | Limit, string>()
  const limit = async (browser: Browser) => {
    for (const name of ['web', 'shop'] as const)
      tokens.set(
        name,
        (await createToken(browser, { name: `only ${name}`, applications: [name] })).token,
      )
  }
  if (!fiat) {
    await limit(await logIn(url, 'writer'))
    return tokens
  }
  for (const name of Object.keys(roles) as (keyof typeof roles)[]) {
    const browser = await logIn(url, name)
    tokens.set(name, (await createToken(browser, { name })).token)
    if (name === 'writer')
      tokens.set(
        'read-only token',
        (await createToken(browser, { name: 'reads', readOnly: true })).token,
      )
  }
  const admin = await logIn(url, 'admin')
  await limit(admin)
  tokens.set('administrator', (await createToken(admin, { name: 'admin' })).token)
  tokens.set(
    'robot',
    (
      await createToken(admin, {
        name: 'robot',
        principalType: 'SERVICE_ACCOUNT',
        principalId: 'robot',
      })
    ).token,
  )
  return tokens
}

async function logIn(url: string, username: string): Promise<Browser> {
  const browser = new Browser(url)
  assert.equal((await browser.login(username, password)).status, 302)
  return browser
}

/** Everything is about the application web, the account prod and the build service ci. */
function addressOf(operation: Operation, others: Query): string {
  const values: Record<string, string> = {
    application: 'web',
    applicationName: 'web',
    buildMaster: 'ci',
    pipelineName: 'main',
  }
  if (operation.path.startsWith('/notifications')) values['type'] = 'application'
  values['account'] = operation.demands[0].kind === 'build-service' ? 'ci' : 'prod'
  values['accountName'] = 'prod'
  values['limit'] = '1'
  const path = operation.path
    .replace(/\{(\w+)\}/g, (_all, name: string) => values[name] ?? 'main')
    .replace('/**', '/rest')
  const query = new URLSearchParams()
  for (const { name, required } of createQueryRules(operation.query)) {
    if (['username', 'to'].includes(name)) continue
    if (
      required ||
      /^(application|executionId|pipelineConfigId|ids|expression|account)$/.test(name)
    )
      query.set(name, values[name] ?? 'main')
  }
  for (const [name, value] of Object.entries(others)) query.set(name, value)
  return `${path}?${query}`
}

function bodyOf({ demands, id }: Operation): unknown {
  const kinds = demands.map(({ kind }) => kind)
  if (kinds.includes('jobs'))
    return { application: 'web', job: [{ type: 'resizeServerGroup', account: 'prod' }] }
  if (id === 'rotateApiTokenUsingPOST') return {}
  if (/^set\w+SecretUsingPUT$/.test(id)) return { value: 'a-secret-value' }
  if (id === 'planManifestsUsingPOST') return { application: 'web', account: 'prod', manifests: [] }
  if (id === 'bulksavePipelineUsingPOST') return [definition]
  return {
    ...definition,
    from: 'main',
    to: 'other',
    idsToIndices: { main: 0 },
    type: 'kubernetes',
    metadata: { scopes: ['web'] },
    applications: ['web'],
  }
}
