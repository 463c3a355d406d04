/** The fake API server in a thread of its own, as measurements talk to it. */
import { Worker } from 'node:worker_threads'
import type { Commands } from './kubernetes-fake-thread.ts'

export interface FakeServer {
  ask<Name extends keyof Commands>(name: Name, ...given: Parameters<Commands[Name]>): Promise<Awaited<ReturnType<Commands[Name]>>>
  close(): Promise<void>
}

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

export function openFakeServer(): FakeServer {
  const worker = new Worker(new URL('./kubernetes-fake-thread.ts', import.meta.url))
  const waiting = new Map<number, (answer: Answer) => void>()
  let lastId = 0
  worker.on('message', (answer: Answer) => {
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  worker.on('error', (error) => {
    for (const [id, tell] of waiting) tell({ id, error: String(error) })
  })
  return {
    ask: async (name, ...[given]) => {
      const id = ++lastId
      const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve))
      worker.postMessage({ id, name, given })
      const { result, error } = await answered
      if (error !== undefined) throw new Error(`The fake API server: ${name}: ${error}`)
      return result as never
    },
    close: async () => void (await worker.terminate()),
  }
}
