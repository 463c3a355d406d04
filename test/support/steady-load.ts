/** Clients that send requests at a steady rate and note every one that does not succeed; they never send one again. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export interface SteadyLoad {
  readonly port: number
  /** Clients that keep their connection, and as many that open one for each request. */
  readonly clients: number
  /** Requests a second of all clients together; fewer where the answers take longer. */
  readonly rate: number
  readonly method: 'GET' | 'PUT' | 'POST'
}

export interface LoadCounts {
  /** Requests that ended, well or not. */
  sent: number
  /** How each request ended that had no answer with status 200, with the time after the first one. */
  readonly failures: Failure[]
  /** Numbers of the requests that were answered with 200. */
  readonly succeeded: Set<number>
  /** How often the answers came from each server group. */
  readonly groups: Map<string, number>
}

export interface Failure {
  readonly number: number
  readonly afterMs: number
  /** Undefined without an answer. */
  readonly status: number | undefined
  readonly reason: string
}

export interface RunningLoad {
  readonly counts: LoadCounts
  /** Waits for the answers to what was sent. */
  stop(): Promise<LoadCounts>
}

const body = 'x'.repeat(200)

export function startLoad({ port, clients, rate, method }: SteadyLoad): RunningLoad {
  const counts: LoadCounts = { sent: 0, failures: [], succeeded: new Set(), groups: new Map() }
  const startedMs = performance.now()
  const pauseMs = (2 * clients * 1000) / rate
  let isStopped = false
  let number = 0

  async function runClient(index: number): Promise<void> {
    const isKept = index % 2 === 0
    const agent = isKept ? new Agent({ keepAlive: true, maxSockets: 1 }) : false
    let nextMs = startedMs + (pauseMs * index) / (2 * clients)
    for (; !isStopped; nextMs = Math.max(nextMs + pauseMs, performance.now())) {
      await sleep(Math.max(0, nextMs - performance.now()))
      await sendOne(agent, ++number)
    }
    if (agent !== false) agent.destroy()
  }

  async function sendOne(agent: Agent | false, own: number): Promise<void> {
    const headers = { 'x-number': String(own) }
    try {
      const { status, text } = await send(
        { port, method, agent, headers },
        method === 'GET' ? undefined : body,
      )
      if (status === 200) {
        counts.succeeded.add(own)
        const { group } = JSON.parse(text) as { group: string }
        counts.groups.set(group, (counts.groups.get(group) ?? 0) + 1)
      } else note(own, status, text)
    } catch (error) {
      note(own, undefined, `${(error as NodeJS.ErrnoException).code}: ${(error as Error).message}`)
    }
    counts.sent++
  }

  function note(own: number, status: number | undefined, reason: string): void {
    counts.failures.push({
      number: own,
      afterMs: Math.round(performance.now() - startedMs),
      status,
      reason,
    })
  }

  const ends = Promise.all(Array.from({ length: 2 * clients }, (_, index) => runClient(index)))
  return {
    counts,
    async stop() {
      isStopped = true
      await ends
      return counts
    },
  }
}

interface Sent {
  readonly port: number
  readonly method: string
  readonly agent: Agent | false
  readonly headers: Record<string, string>
}

function send(sent: Sent, content: string | undefined): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const outgoing = request({ host: '127.0.0.1', path: '/', ...sent }, (answer) => {
    readText(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject)
  })
  outgoing.once('error', reject)
  outgoing.end(content)
  return promise
}

async function readText(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of answer as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}
