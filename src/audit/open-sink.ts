/** Opens the sink that the settings name; the code of the others is not loaded. */
import type { Redis } from '../redis/redis.ts'
import type { AuditSink } from './audit-sink.ts'
import type { SinkSettings } from './settings.ts'

/** @throws {Error} when it cannot be used; the message says what to do */
export async function openAuditSink(sink: SinkSettings, redis: Redis | undefined): Promise<AuditSink> {
  switch (sink.kind) {
    case 'sqlite':
      return (await import('./sqlite-sink.ts')).openSqliteSink(sink.file)
    case 'file':
      return (await import('./file-sink.ts')).openFileSink(sink)
    case 'stdout':
      return (await import('./output-sink.ts')).createOutputSink()
    case 'redis': {
      if (redis === undefined) throw new Error('the audit log in Redis needs redis.connection')
      return (await import('./redis-sink.ts')).createRedisSink(redis)
    }
  }
}
