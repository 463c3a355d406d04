/** The agent's HTTP interface on its Unix socket: desired state in, observed state out. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { http } from '../runtime/node-http.ts'
import { checkDesiredState } from './check-desired.ts'
import type { ConsolePart, ConsoleWish } from './console.ts'
import { type ObservedHead, ObservedLedger } from './observed-lines.ts'
import type { DesiredState, ObservedState } from './protocol.ts'
import { type AgentProgram, checkAgentProgram } from './start-agent.ts'

export interface ControlOptions {
  /** @returns false when a newer state is there already */
  readonly apply: (state: DesiredState) => boolean
  readonly head: () => ObservedHead
  readonly observe: () => ObservedState
  readonly console: (instanceId: string, tailBytes: number) => string | undefined
  readonly consolePart: (instanceId: string, wish: ConsoleWish, maxBytes: number) => ConsolePart | undefined
  /** Ends everything; the agent ends after the answer. */
  readonly stop: () => Promise<void>
  /**
   * Leaves processes and ports to another agent, and ends after the answer.
   *
   * @param successor Starts it; undefined: Fairlead does, and the ports close for a moment
   * @returns process id of the successor
   */
  readonly handOver: (successor: AgentProgram | undefined) => number | undefined
}

export interface Control {
  readonly server: Server
  /** Answers those who wait for a change. */
  changed(): void
}

interface ControlRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
  /** The second segment of the path: an instance. */
  readonly name: string
}

type Route = (parts: ControlRequest) => void | Promise<void>

const noConsole = { error: 'There is no console of this instance.' }
const maxStateBytes = 64 * 1024 * 1024
const maxTailBytes = 16 * 1024 * 1024
const longestWaitMs = 60_000
/** Changes within this time are reported together. */
const gatherMs = 20

export function createControl(options: ControlOptions): Control {
  const waiting = new Set<() => void>()
  const ledger = new ObservedLedger()
  let isGathering = false

  function changed(): void {
    if (isGathering) return
    isGathering = true
    setTimeout(() => {
      isGathering = false
      for (const answer of [...waiting]) answer()
    }, gatherMs)
  }

  /** All that has changed since the state that the client has of this very agent. */
  async function answerChanges(response: ServerResponse, url: URL): Promise<void> {
    const { pid, sequence } = options.head()
    const after = numberIn(url, 'pid') === pid ? numberIn(url, 'after') : 0
    const waitMs = numberIn(url, 'waitMs', longestWaitMs)
    if (waitMs > 0 && sequence === after) await nextChange(response, waitMs)
    ledger.update(options.observe())
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(ledger.linesSince(after))
  }

  function nextChange(response: ServerResponse, waitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const answer = () => {
      clearTimeout(limit)
      waiting.delete(answer)
      resolve()
    }
    const limit = setTimeout(answer, waitMs)
    waiting.add(answer)
    response.once('close', answer)
    return promise
  }

  const routes: Record<string, Route> = {
    'GET /': ({ response }) => {
      const { protocol, version, pid } = options.head()
      send(response, 200, { protocol, version, pid })
    },
    'PUT /desired': async ({ request, response }) => {
      const isTaken = options.apply(checkDesiredState(JSON.parse(await readText(request))))
      send(response, isTaken ? 200 : 409, { revision: options.head().revision })
    },
    'GET /observed': ({ response }) => send(response, 200, options.observe()),
    'GET /observed-changes': ({ response, url }) => answerChanges(response, url),
    'GET /console': ({ response, url, name }) => {
      const tailBytes = Math.min(maxTailBytes, Number(url.searchParams.get('tailBytes') ?? maxTailBytes))
      const text = options.console(name, tailBytes)
      if (text === undefined) send(response, 404, noConsole)
      else response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(text)
    },
    'GET /console-part': ({ response, url, name }) => {
      const part = options.consolePart(name, wishOf(url), numberIn(url, 'maxBytes', maxTailBytes))
      send(response, part === undefined ? 404 : 200, part ?? noConsole)
    },
    'POST /stop': async ({ response }) => {
      await options.stop()
      send(response, 200, {})
    },
    'POST /hand-over': async ({ request, response }) => {
      const text = await readText(request)
      const pid = options.handOver(text === '' ? undefined : checkAgentProgram(JSON.parse(text)))
      send(response, 200, { successor: pid })
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://agent')
    const [, first = '', second = ''] = url.pathname.split('/')
    const route = `${request.method} /${first}`
    if (!Object.hasOwn(routes, route)) return send(response, 404, { error: `There is no ${route}.` })
    await routes[route]?.({ request, response, url, name: decodeURIComponent(second) })
  }

  const server = http.createServer((request, response) => {
    answer(request, response).catch((error: Error) => {
      if (!response.headersSent) send(response, error instanceof SyntaxError ? 400 : 500, { error: error.message })
    })
  })
  return { server, changed }
}

function wishOf(url: URL): ConsoleWish {
  return url.searchParams.has('offset') ? { offset: numberIn(url, 'offset') } : { tail: numberIn(url, 'tail') }
}

/** A whole number from 0 to a limit. */
function numberIn(url: URL, name: string, most = Number.MAX_SAFE_INTEGER): number {
  const number = Number(url.searchParams.get(name) ?? most)
  return Math.min(most, Math.max(0, Math.trunc(number) || 0))
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function readText(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > maxStateBytes) throw new SyntaxError(`The desired state has more than ${maxStateBytes} bytes.`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
