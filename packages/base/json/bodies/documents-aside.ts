/** Reads and writes large YAML in threads, without delay for other requests. */
import { SideThread, SideThreadError } from '../../concurrency/side-thread.ts'
import { GatewayError } from '../../errors.ts'
import { parseWritten, UnsafeJsonError } from '../json.ts'
import type { YamlJob, YamlReply } from './document-worker.ts'

/** For one document; what takes longer was made for that. */
const maxParseMs = 20_000
/** The bound of characters is met in seconds; a busy machine gives this thread little time. */
const maxWriteMs = 120_000
/** The last one waits for minutes at worst. */
const maxWaiting = 16
/** Characters of JSON: some seconds of the thread, and tens of megabytes. */
const maxYamlCharacters = 16 * 1024 * 1024

const file = new URL(
  import.meta.url.endsWith('.ts') ? './document-worker.ts' : './document-worker.js',
  import.meta.url,
)
const common = { file, maxOldGenerationSizeMb: 256, maxWaiting }
const reader = new SideThread<YamlJob, YamlReply>({ ...common, name: 'yaml', maxJobMs: maxParseMs })
/** Answers of which one takes seconds must not delay bodies. */
const writer = new SideThread<YamlJob, YamlReply>({
  ...common,
  name: 'yaml-answers',
  maxJobMs: maxWriteMs,
})

export interface ReadDocument {
  readonly value: unknown
  /** The value as JSON, where writing it took no time here. */
  readonly json?: Buffer
}

/**
 * @throws {GatewayError} TOO_MANY_BODIES
 * @throws {Error} as `parseYaml` does, and for a document that takes more time or memory than any real one
 */
export async function parseYamlAside(
  yaml: string,
  maxValues: number = Number.POSITIVE_INFINITY,
): Promise<ReadDocument> {
  try {
    const json = toBytes(await reader.run({ kind: 'read', yaml, maxValues }))
    return { value: parseWritten(json.toString('utf8')), json }
  } catch (error) {
    if (!(error instanceof SideThreadError)) throw error
    if (error.reason !== 'full')
      throw new Error(`reading it: ${error.message}; send JSON`, { cause: error })
    const message =
      'Too many large YAML documents wait to be read. Try again in a moment, or send JSON.'
    // The rest of the body is not worth reading: the connection ends with this answer.
    throw new GatewayError('TOO_MANY_BODIES', message, {
      cause: error,
      headers: { connection: 'close', 'retry-after': '1' },
    })
  }
}

/**
 * JSON as YAML.
 *
 * @param isStranger Answers to callers without login wait for those to users.
 * @throws {GatewayError} NOT_ACCEPTABLE, TOO_MANY_BODIES
 */
export async function formatYamlAside(
  json: string,
  { isStranger }: { isStranger: boolean },
): Promise<Buffer> {
  if (json.length > maxYamlCharacters) throw tooLargeForYaml()
  try {
    return toBytes(await writer.run({ kind: 'write', json }, isStranger ? 'second' : 'first'))
  } catch (error) {
    if (!(error instanceof SideThreadError)) throw error
    if (error.reason !== 'full') throw tooLargeForYaml(error)
    const message =
      'Too many large answers wait to be written as YAML. Try again in a moment, or ask for JSON.'
    throw new GatewayError('TOO_MANY_BODIES', message, {
      cause: error,
      headers: { 'retry-after': '1' },
    })
  }
}

function tooLargeForYaml(cause?: unknown): GatewayError {
  const message = 'This answer is too large for YAML. Ask for JSON with "Accept: application/json".'
  return new GatewayError('NOT_ACCEPTABLE', message, { cause })
}

function toBytes(reply: YamlReply): Buffer {
  if ('bytes' in reply) return Buffer.from(reply.bytes.buffer)
  throw reply.code === undefined
    ? new Error(reply.problem)
    : new UnsafeJsonError(reply.code, reply.problem)
}
