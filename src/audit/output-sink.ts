/** The audit log on standard output, for whatever collects it there. Each start begins a chain. */
import type { Writable } from 'node:stream'
import type { AuditSink } from './audit-sink.ts'
import { type ChainHead, chainStart, sealEvents } from './chain.ts'

export function createOutputSink(output: Writable = process.stdout): AuditSink {
  let head: ChainHead = chainStart
  return {
    async append(events) {
      const sealed = sealEvents(head, events)
      const text = sealed.map(({ line }) => `${line}\n`).join('')
      await new Promise<void>((resolve, reject) => {
        output.write(text, (error) => (error ? reject(error) : resolve()))
      })
      head = sealed.at(-1)?.record ?? head
    },
    find: undefined,
    since: undefined,
    isShared: false,
    removeBefore: async () => {},
    removeBeyond: async () => false,
    close: async () => {},
  }
}
