/** Reads large YAML documents in a thread, one after the other, while everybody else is answered. */
import { Worker } from 'node:worker_threads'
import { parseJson } from './json.ts'
import type { ReadYaml } from './yaml-worker.ts'

/** For one document; what takes longer was made for that. */
const maxParseMs = 20_000
/** The thread costs some megabytes, and YAML is rare. */
const idleMs = 10_000
const maxOldGenerationSizeMb = 256

let worker: Worker | undefined
let idle: NodeJS.Timeout | undefined
let last: Promise<unknown> = Promise.resolve()

/** @throws {Error} as `parseYaml` does, and for a document that takes more time or memory than any real one */
export function parseYamlAside(text: string): Promise<unknown> {
  const parsed = last.then(() => readAside(text))
  last = parsed.catch(() => {})
  return parsed
}

async function readAside(text: string): Promise<unknown> {
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
  thread.postMessage(text)
  const read = await answer.promise
  clearTimeout(limit)
  thread.off('message', answer.resolve)
  thread.off('error', onError)
  idle = setTimeout(endThread, idleMs).unref()
  if ('problem' in read) throw new Error(read.problem)
  return parseJson(read.json)
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
