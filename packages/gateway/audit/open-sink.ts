/** Opens the sink that the settings name; the code of the others is not loaded. */
import type { Writable } from 'node:stream'
import { type ChainHead, chainStart, sealEvents } from './chain.ts'
import type { AuditSink } from './event.ts'
import type { SinkSettings } from './settings.ts'

/** @throws {Error} when it cannot be used; the message says what to do */
export async function openAuditSink(sink: SinkSettings): Promise<AuditSink> {
  switch (sink.kind) {
    case 'sqlite':
      return (await import('./sqlite-sink.ts')).openSqliteSink(sink.file)
    case 'file':
      return (await import('./file-sink.ts')).openFileSink(sink)
    case 'stdout':
      return createOutputSink()
  }
}

/** The audit log on standard output, for collectors of logs. Each start begins a chain. */
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
    removeBefore: async () => {},
    removeBeyond: async () => false,
    close: async () => {},
  }
}
