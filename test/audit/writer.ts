/** Writes records to an audit log until it is killed, and says of each when it is durable: `node writer.ts sqlite|file FILE`. */
import { openAuditSink } from '../../packages/gateway/audit/open-sink.ts'
import { eventsOf } from './support.ts'

const [, , kind, file = ''] = process.argv
const sink = await openAuditSink(
  kind === 'sqlite'
    ? { kind, file }
    : { kind: 'file', file, maxBytes: 20_000, maxAgeMs: 3_600_000 },
)
for (let written = 3; ; written += 3) {
  await sink.append(eventsOf(3))
  process.stdout.write(`${written}\n`)
}
