/** What the tests of permissions share: a gateway with every back end embedded, people with roles, and applications of theirs. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { basic } from '../login/support.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { waitUntil } from '../support/wait-until.ts'

const password = 'correct horse'

export interface Answer {
  status: number
  text: string
  json(): unknown
}

export interface Seeded {
  url: string
  dataDir: string
  /** Adds a user with roles. */
  add(username: string, roles: readonly string[]): Promise<void>
  /** Asks as a user of the form; without a user, as nobody. */
  ask(
    username: string | undefined,
    request: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  /** Submits a task and waits until it has succeeded. */
  run(username: string, application: string, job: Record<string, unknown>): Promise<void>
  /** Creates an application, with roles by authorization. */
  createApplication(name: string, permissions?: Record<string, string[]>): Promise<void>
}

/** The administrator is `admin`. */
export async function startSeeded(t: TestContext, settings: GatewaySettings = {}): Promise<Seeded> {
  const { url, dataDir } = await runGateway(
    t,
    {
      'api-tokens': { enabled: true, 'allowed-minting-roles': ['writers'] },
      fairlead: { admin: { password } },
      ...settings,
    },
    { embedded: true },
  )
  const users = openUsers(dataDir)
  t.after(() => users.close())
  const ask: Seeded['ask'] = async (username, request, body, headers = {}) => {
    const [method = 'GET', path = '/'] = request.split(' ')
    const answer = await fetch(`${url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(username === undefined ? {} : basic(username, password)),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, text, json: () => JSON.parse(text) as unknown }
  }
  const run: Seeded['run'] = async (username, application, job) => {
    const submitted = await ask(username, 'POST /tasks', {
      application,
      description: 'a test',
      job: [job],
    })
    assert.equal(submitted.status, 200, submitted.text)
    const { ref } = submitted.json() as { ref: string }
    await waitUntil(async () => {
      const { status, text } = (await ask('admin', `GET ${ref}`)).json() as {
        status: string
        text: string
      }
      assert.ok(['NOT_STARTED', 'RUNNING', 'SUCCEEDED'].includes(status), `${status} ${text}`)
      return status === 'SUCCEEDED'
    }, `the task of ${application}`)
  }
  return {
    url,
    dataDir,
    ask,
    run,
    add: (username, roles) => users.add(username, password, [...roles]).then(() => undefined),
    createApplication: (name, permissions) =>
      run('admin', name, {
        type: 'createApplication',
        application: { name, email: 'a@example.com', ...(permissions && { permissions }) },
      }),
  }
}
