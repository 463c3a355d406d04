/** A gateway of two worker processes, and browsers whose one connection ends at a known one. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Agent } from 'undici'
import { Browser } from '../login/browser.ts'
import type { GatewaySettings } from '../support/gateway.ts'
import { type ServeOptions, type ServeProcess, startServe } from '../support/serve.ts'
import type { TestEnd } from '../support/test-end.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

export const password = 'correct-horse-battery'

export interface WorkersUnderTest {
  readonly serve: ServeProcess
  readonly url: string
  /** Connects, and logs the administrator in unless told otherwise. */
  connect(options?: { logsIn?: boolean }): Promise<PinnedBrowser>
  /** One browser at each worker, in their order. */
  connectToBoth(options?: { logsIn?: boolean }): Promise<[PinnedBrowser, PinnedBrowser]>
  /** Process ids of the workers that serve, by number. */
  pids(): Map<number, number>
}

export interface PinnedBrowser {
  readonly browser: Browser
  readonly dispatcher: Agent
  /** Number of the worker at the other end. */
  readonly worker: number
}

export async function startWorkers(
  t: TestEnd,
  settings: GatewaySettings = {},
  { env, ...options }: ServeOptions = {},
): Promise<WorkersUnderTest> {
  const serve = startServe(
    t,
    { anonymous: { enabled: false }, ...settings, server: { workers: 2, ...(settings['server'] as object | undefined) } },
    { embedded: true, ...options, env: { FAIRLEAD_ADMIN_PASSWORD: password, ...env } },
  )
  const url = await serve.listening
  await untilServing(serve, 2)

  const connect = async ({ logsIn = true } = {}): Promise<PinnedBrowser> => {
    const dispatcher = new Agent({ connections: 1, keepAliveTimeout: 60_000 })
    t.after(() => dispatcher.destroy())
    const browser = new Browser(url, {}, dispatcher)
    const worker = await workerOf(serve, browser)
    if (logsIn) assert.equal((await browser.login('admin', password)).status, 302)
    return { browser, dispatcher, worker }
  }
  return {
    serve,
    url,
    connect,
    connectToBoth: async (given) => {
      const found: PinnedBrowser[] = []
      // Each new connection goes to the worker that has the fewest.
      while (new Set(found.map(({ worker }) => worker)).size < 2) found.push(await connect(given))
      const at = (number: number) => found.find(({ worker }) => worker === number) as PinnedBrowser
      return [at(1), at(2)]
    },
    pids: () => servingPids(serve),
  }
}

/** Until so many starts of workers have been logged. */
export async function untilServing(serve: ServeProcess, starts: number): Promise<void> {
  await waitUntil(
    () => starts <= servingLines(serve).length,
    () => `worker ${starts}: ${JSON.stringify(serve.log().slice(-5))}`,
  )
}

export function servingPids(serve: ServeProcess): Map<number, number> {
  return new Map(servingLines(serve).map(({ worker, pid }) => [Number(worker), Number(pid)]))
}

function servingLines(serve: ServeProcess): Record<string, unknown>[] {
  return serve.log().filter(({ msg }) => msg === 'a worker process serves')
}

/** Which worker serves the connection of a browser, as the access log tells. */
export async function workerOf(serve: ServeProcess, browser: Browser): Promise<number> {
  const requestId = randomUUID()
  await browser.ask('/version', { headers: { 'x-spinnaker-request-id': requestId } })
  const find = () => serve.log().find((line) => line['requestId'] === requestId)?.['worker']
  return Number(await waitFor(find, 'the request in the log'))
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
