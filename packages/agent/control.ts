/** The agent's HTTP interface on its Unix socket: desired state in, observed state out. */
import { EventEmitter, once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type {
  ConsolePart,
  ConsoleWish,
  DesiredState,
  ObservedState,
  OutputWish,
  TimedPart,
  TrafficSamples,
} from '@fairlead/base/net/agent-protocol.ts'
import { execProtocol } from '@fairlead/base/net/exec-frames.ts'
import { readAnswerText } from '@fairlead/base/net/read-answer.ts'
import { http } from '@fairlead/base/runtime/node-http.ts'
import { extentOf, readConsolePart } from './console.ts'
import { ExecError, serveExec } from './exec.ts'
import type { ProgramInstance } from './instance.ts'
import { type ObservedHead, ObservedLedger } from './observed-lines.ts'
import { type AgentProgram, checkAgentProgram } from './start-agent.ts'

interface ControlledAgent {
  /** @returns false when a newer state is there already */
  apply(state: DesiredState): boolean
  head(): ObservedHead
  observe(): ObservedState
  samples(): TrafficSamples
  consolePart(instanceId: string, wish: ConsoleWish, maxBytes: number): ConsolePart | undefined
  find(instanceId: string): ProgramInstance | undefined
  /** Ends everything; the agent ends after the answer. */
  stop(): Promise<void>
  /**
   * Leaves processes and ports to another agent, and ends after the answer.
   *
   * @param program Starts it
   * @returns process id of the successor; undefined: it could not be started, and Fairlead starts one
   */
  handOver(program: AgentProgram): number | undefined
}

interface ControlRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
}

const maxStateBytes = 64 * 1024 * 1024
const maxTailBytes = 16 * 1024 * 1024
const longestWaitMs = 60_000
/** Changes within this time are reported together. */
const gatherMs = 20

export class Control {
  readonly server = http.createServer((request, response) => {
    this.#answer(request, response).catch((error: Error) => {
      if (!response.headersSent)
        send(response, error instanceof SyntaxError ? 400 : 500, { error: error.message })
    })
  })
  readonly #agent: ControlledAgent
  readonly #changes = new EventEmitter<{ change: [] }>()
  readonly #ledger = new ObservedLedger()
  #gathering: NodeJS.Timeout | undefined

  constructor(agent: ControlledAgent) {
    this.#agent = agent
    this.server.on('upgrade', (request, connection) => this.#upgrade(request, connection))
  }

  #upgrade(request: IncomingMessage, connection: Duplex): void {
    connection.on('error', () => connection.destroy())
    if (request.headers.upgrade !== execProtocol) return void connection.destroy()
    const name = nameIn(new URL(request.url ?? '/', 'http://agent'))
    connection.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${execProtocol}\r\n\r\n`,
    )
    void serveExec(connection, () => {
      const instance = this.#agent.find(name)
      if (instance === undefined) throw new ExecError(125, `There is no instance ${name}.`)
      return instance.surroundings
    })
  }

  /** Answers those who wait for a change. */
  changed(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.#changes.emit('change')
    }, gatherMs)
  }

  readonly #routes: Readonly<Record<string, (asked: ControlRequest) => void | Promise<void>>> = {
    'GET /': ({ response }) => {
      const { protocol, version, pid } = this.#agent.head()
      send(response, 200, { protocol, version, pid })
    },
    'PUT /desired': async ({ request, response }) => {
      const isTaken = this.#agent.apply(checkDesiredState(JSON.parse(await readText(request))))
      send(response, isTaken ? 200 : 409, { revision: this.#agent.head().revision })
    },
    'GET /observed': ({ response }) => send(response, 200, this.#agent.observe()),
    'GET /observed-changes': (asked) => this.#answerChanges(asked),
    'GET /console-part': ({ response, url }) => {
      const part = this.#agent.consolePart(
        nameIn(url),
        wishOf(url),
        numberIn(url, 'maxBytes', maxTailBytes),
      )
      send(
        response,
        part === undefined ? 404 : 200,
        part ?? { error: 'There is no console of this instance.' },
      )
    },
    'GET /output-part': ({ response, url }) => {
      const instance = this.#agent.find(nameIn(url))
      const part =
        instance &&
        readTimedPart(instance, outputWishOf(url), numberIn(url, 'maxBytes', maxTailBytes))
      send(response, part === undefined ? 404 : 200, part ?? { error: 'There is no such output.' })
    },
    'GET /output-follow': ({ response, url }) => {
      const instance = this.#agent.find(nameIn(url))
      if (instance === undefined)
        return send(response, 404, { error: 'There is no such instance.' })
      response.writeHead(200, { 'content-type': 'application/x-ndjson' })
      response.flushHeaders()
      followOutput(instance, numberIn(url, 'offset'), response)
    },
    'GET /samples': ({ response }) => send(response, 200, this.#agent.samples()),
    'POST /stop': async ({ response }) => {
      await this.#agent.stop()
      send(response, 200, {})
    },
    'POST /hand-over': async ({ request, response }) => {
      const successor = this.#agent.handOver(checkAgentProgram(JSON.parse(await readText(request))))
      send(response, 200, { successor })
    },
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://agent')
    const route = `${request.method} /${url.pathname.split('/')[1]}`
    if (!Object.hasOwn(this.#routes, route))
      return send(response, 404, { error: `There is no ${route}.` })
    await this.#routes[route]?.({ request, response, url })
  }

  /** All that has changed since the state that the client has of this very agent. */
  async #answerChanges({ response, url }: ControlRequest): Promise<void> {
    const { pid, sequence } = this.#agent.head()
    const after = numberIn(url, 'pid') === pid ? numberIn(url, 'after') : 0
    const waitMs = numberIn(url, 'waitMs', longestWaitMs)
    if (waitMs > 0 && sequence === after) await this.#nextChange(response, waitMs)
    this.#ledger.update(this.#agent.observe())
    response
      .writeHead(200, { 'content-type': 'application/x-ndjson' })
      .end(this.#ledger.linesSince(after))
  }

  async #nextChange(response: ServerResponse, waitMs: number): Promise<void> {
    const left = new AbortController()
    response.once('close', () => left.abort())
    await once(this.#changes, 'change', {
      signal: AbortSignal.any([left.signal, AbortSignal.timeout(waitMs)]),
    }).catch(() => {})
  }
}

function nameIn(url: URL): string {
  return decodeURIComponent(url.pathname.split('/')[2] ?? '')
}

function outputWishOf(url: URL): OutputWish {
  if (url.searchParams.has('sinceMs')) return { sinceMs: numberIn(url, 'sinceMs') }
  if (url.searchParams.has('previous')) return { previous: true }
  return url.searchParams.has('all') ? { all: true } : wishOf(url)
}

function wishOf(url: URL): ConsoleWish {
  return url.searchParams.has('offset')
    ? { offset: numberIn(url, 'offset') }
    : { tail: numberIn(url, 'tail') }
}

/** A whole number from 0 to a limit. */
function numberIn(url: URL, name: string, most = Number.MAX_SAFE_INTEGER): number {
  const number = Number(url.searchParams.get(name) ?? most)
  return Math.min(most, Math.max(0, Math.trunc(number) || 0))
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function readText(request: IncomingMessage): Promise<string> {
  return readAnswerText(
    request,
    maxStateBytes,
    () => new SyntaxError(`The desired state has more than ${maxStateBytes} bytes.`),
  )
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9-]{0,127}$/

/**
 * Types hold otherwise: Fairlead, which alone may open the socket, is compiled with them.
 *
 * @throws {SyntaxError} says what is wrong
 */
function checkDesiredState(body: unknown): DesiredState {
  const state = body as DesiredState
  if (!Number.isSafeInteger(state?.revision) || state.revision < 1)
    throw new SyntaxError('revision is no positive integer.')
  const ids = new Set<string>()
  for (const { id } of state.instances) {
    if (!idPattern.test(id))
      throw new SyntaxError(
        `The instance id ${JSON.stringify(id)} has other characters than letters, digits and hyphens.`,
      )
    if (ids.has(id)) throw new SyntaxError(`The instance ${id} is listed twice.`)
    ids.add(id)
  }
  return state
}

const partBytes = 256 * 1024

/** Undefined when it was never started, or has no earlier run. */
function readTimedPart(
  { consoleFile, times }: ProgramInstance,
  wish: OutputWish,
  maxBytes: number,
): TimedPart | undefined {
  times.look()
  const previous = 'previous' in wish ? times.previousRun() : undefined
  if ('previous' in wish && previous === undefined) return undefined
  const place = previous === undefined ? placeOf(wish) : { offset: previous.start }
  const part = readConsolePart(consoleFile, place, maxBytes, previous?.end)
  return part && { ...part, times: times.between(part.offset, part.nextOffset) }

  function placeOf(wanted: OutputWish): ConsoleWish {
    if ('sinceMs' in wanted) return { offset: times.offsetSince(wanted.sinceMs) }
    if ('tail' in wanted || 'offset' in wanted) return wanted
    return { offset: extentOf(consoleFile)?.start ?? 0 }
  }
}

/** Lines of parts, until the instance or the reader has gone. */
function followOutput(instance: ProgramInstance, offset: number, response: ServerResponse): void {
  let next = offset
  const send = (isLast: boolean) => {
    while (isLast || !response.writableNeedDrain) {
      const part = readTimedPart(instance, { offset: next }, partBytes)
      if (part === undefined || part.nextOffset === next || part.output === '') return
      next = part.nextOffset
      response.write(`${JSON.stringify(part)}\n`)
    }
  }
  const onGrew = () => send(false)
  const onEnded = () => {
    send(true)
    response.end()
  }
  instance.output.on('grew', onGrew).once('ended', onEnded)
  response.on('drain', onGrew)
  response.once('close', () => {
    instance.output.off('grew', onGrew).off('ended', onEnded)
  })
  send(false)
}
