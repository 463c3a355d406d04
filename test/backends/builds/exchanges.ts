/** Build servers of tests: they answer with the exchanges of files, and to conditional requests with 304. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { strToU8, zipSync } from 'fflate'
import pino from 'pino'
import { outsideKeys } from '../../../packages/base/outside/settings.ts'
import type { BackendContext } from '../../../packages/ports/backend.ts'
import { defaults } from '../../support/backend-settings.ts'
import {
  type RecordedRequest,
  Reply,
  startUpstream,
  type Upstream,
} from '../../support/upstream.ts'

export interface Exchange {
  /** `GET /path?query`. */
  readonly request: string
  /** Default: 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** One of these: JSON, text, or the files of a zip archive. */
  readonly body?: unknown
  readonly text?: string
  readonly zip?: Readonly<Record<string, string>>
}

export interface ExchangeServer extends Upstream {
  /** Answers differently to some requests from now on. */
  exchange(...exchanges: readonly Exchange[]): void
  /** `GET /path?query 304`, in order, since the last call. */
  taken(): readonly string[]
}

/** @param file Below `exchanges/` */
export async function startExchangeServer(t: TestContext, file: string): Promise<ExchangeServer> {
  const { exchanges } = JSON.parse(
    readFileSync(join(import.meta.dirname, 'exchanges', file), 'utf8'),
  ) as {
    exchanges: Exchange[]
  }
  const known = new Map(exchanges.map((each) => [each.request, each]))
  let taken: string[] = []
  const upstream = await startUpstream(t, (request) => {
    const line = `${request.method} ${request.path}${request.query === '' ? '' : `?${request.query}`}`
    const reply = toReply(known.get(line), request)
    taken.push(`${line} ${reply.status}`)
    return reply
  })
  return Object.assign(upstream, {
    exchange: (...others: readonly Exchange[]) => {
      for (const each of others) known.set(each.request, each)
    },
    taken: () => {
      const lines = taken
      taken = []
      return lines
    },
  })
}

function toReply(exchange: Exchange | undefined, { headers }: RecordedRequest): Reply {
  if (exchange === undefined) return new Reply(404, { message: 'Not Found' })
  const isSame =
    exchange.headers?.['etag'] !== undefined &&
    exchange.headers['etag'] === headers['if-none-match']
  if (isSame) return new Reply(304, undefined, exchange.headers)
  const { status = 200, body, text, zip } = exchange
  return new Reply(status, text ?? (zip === undefined ? body : zipOf(zip)), exchange.headers)
}

function zipOf(files: Readonly<Record<string, string>>): Buffer {
  return Buffer.from(
    zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)]))),
  )
}

const outside = outsideKeys.read(
  outsideKeys.keys.parse({
    'user-configured-url-restrictions.allowedAddresses': ['127.0.0.1/32'],
    'user-configured-url-restrictions.rejectVerbatimIps': false,
  }),
)

export interface BuildServerContext {
  readonly context: BackendContext
  /** Warnings of the log, as text. */
  readonly warnings: string[]
  /** Moves both clocks. */
  pass(ms: number): void
}

/** As far as build servers use it. Downloads may come from other servers of this machine. */
export function createServerContext(): BuildServerContext {
  const warnings: string[] = []
  let passedMs = 0
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
  const context = {
    log,
    settings: { ...defaults, outside },
    now: () => Date.now() + passedMs,
    steady: () => performance.now() + passedMs,
  }
  return {
    context: context as unknown as BackendContext,
    warnings,
    pass: (ms) => {
      passedMs += ms
    },
  }
}
