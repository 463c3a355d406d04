/** Writes records to a file until the system refuses more, and says how many it took: `node limited-writer.ts FILE`. */
import { openFileSink } from '../../packages/gateway/audit/file-sink.ts'
import { eventsOf } from './support.ts'

process.on('SIGXFSZ', () => {})
const [, , file = ''] = process.argv
const sink = await openFileSink({ file, maxBytes: 1_000_000, maxAgeMs: 3_600_000 })
let written = 0
let failure: unknown
for (; written < 1000 && failure === undefined; ) {
  try {
    await sink.append(eventsOf(3))
    written += 3
  } catch (error) {
    failure = error
  }
}
await sink.close()
process.stdout.write(`${(failure as { code?: string } | undefined)?.code}: ${written} written\n`)
