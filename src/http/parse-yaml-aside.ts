/** Reads large YAML documents in a thread, one after the other, without blocking other requests. */
import { Worker } from 'node:worker_threads'
import { GatewayError } from '../errors.ts'
import { parseJson, UnsafeJsonError } from '../json/json.ts'
import type { ReadYaml, YamlDocument } from './yaml-worker.ts'

/** For one document; what takes longer was made for that. */
const maxParseMs = 20_000
/** The thread costs some megabytes, and YAML is rare. */
const idleMs = 10_000
const maxOldGenerationSizeMb = 256
/** Documents that are read or wait: the last one waits for minutes at worst. */
const maxWaiting = 16

let worker: Worker | undefined
let idle: NodeJS.Timeout | undefined
let last: Promise<unknown> = Promise.resolve()
let waiting = 0

/**
 * @throws {GatewayError} TOO_MANY_BODIES
 * @throws {Error} as `parseYaml` does, and for a document that takes more time or memory than any real one
 */
export async function parseYamlAside(text: string, maxValues: number = Number.POSITIVE_INFINITY): Promise<unknown> {
  if (waiting >= maxWaiting) {
    const message = 'Too many large YAML documents wait to be read. Try again in a moment, or send JSON.'
    throw new GatewayError('TOO_MANY_BODIES', message, { headers: { 'retry-after': '1' } })
  }
  waiting++
  const parsed = last.then(() => readAside({ text, maxValues })).finally(() => waiting--)
  last = parsed.catch(() => {})
  return parsed
}

async function readAside(document: YamlDocument): Promise<unknown> {
  clearTimeout(idle)
  const thread = worker ?? startThread()
  worker = thread
  const answer = Promise.withResolvers<ReadYaml>()
  const giveUp = (problem: string) => {
    worker = undefined
    void thread.terminate()
    answer.resolve({ problem })
  }
  const onError = () => giveUp('reading it takes too much memory; send JSON')
  const limit = setTimeout(() => giveUp('reading it takes too long; send JSON'), maxParseMs)
  thread.once('message', answer.resolve)
  thread.once('error', onError)
  thread.postMessage(document)
  const read = await answer.promise
  clearTimeout(limit)
  thread.off('message', answer.resolve)
  thread.off('error', onError)
  idle = setTimeout(endThread, idleMs).unref()
  if ('json' in read) return parseJson(read.json, { keepsNumerals: true })
  throw read.code === undefined ? new Error(read.problem) : new UnsafeJsonError(read.code, read.problem)
}

function startThread(): Worker {
  const file = new URL(import.meta.url.endsWith('.ts') ? './yaml-worker.ts' : './yaml-worker.js', import.meta.url)
  const thread = new Worker(file, { name: 'yaml', resourceLimits: { maxOldGenerationSizeMb } })
  thread.unref()
  return thread
}

function endThread(): void {
  void worker?.terminate()
  worker = undefined
}
