/** A definition store in the test's process, with short forms of what its tests do most. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import type { ServiceAnswer } from '../../../packages/ports/service-call.ts'
import { type Backends, type BackendsOptions, startBackends } from '../../support/backends.ts'

export type Fields = Record<string, unknown>

export interface Store {
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ServiceAnswer>
  /** Asks, expects 200 and answers the body. */
  ok<T = Fields>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<T>
  /** Asks, expects the status and answers the error body. */
  fails(status: number, method: string, path: string, body?: unknown): Promise<Fields>
  stored: Backends['stored']
  url: string
  stop(): Promise<void>
}

export async function startStore(t: TestContext, options: BackendsOptions = {}): Promise<Store> {
  const backends = await startBackends(t, [definitionsBackend], options)
  const ask: Store['ask'] = (method, path, body, headers) =>
    backends.ask('front50', method, path, body, headers)
  return {
    ask,
    async ok<T>(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
      const answer = await ask(method, path, body, headers)
      assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`)
      return answer.body as T
    },
    async fails(status, method, path, body) {
      const answer = await ask(method, path, body)
      assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`)
      return answer.body as Fields
    },
    stored: backends.stored,
    url: backends.url('front50'),
    stop: backends.stop,
  }
}

/** Names of what a list path answers, in its order. */
export async function namesAt(store: Store, path: string): Promise<unknown[]> {
  return (await store.ok<Fields[]>('GET', path)).map((one) => one['name'])
}
