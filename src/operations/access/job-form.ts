/** How jobs write what they are and what they carry; whatever judges jobs has to read them alike. */
import { GatewayError } from '../../errors.ts'
import { JsonScan, parseJson, UnsafeJsonError } from '../../json/json.ts'
import { isObject, type JsonObject } from '../../json/values.ts'

/** In lower case. A job may bear one type and be carried out as another. */
export function typesOf({ type, alias }: JsonObject): string[] {
  return [type, alias].filter((name) => typeof name === 'string').map((name) => name.trim().toLowerCase())
}

/**
 * A document is carried as JSON in base64; anything else is the value itself.
 *
 * @throws {GatewayError} UNREADABLE_BODY
 */
export function decodeDocument(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return parseJson(Buffer.from(value, 'base64').toString(), { keepsNumerals: true })
  } catch (error) {
    if (error instanceof UnsafeJsonError) throw unusable(error)
    return value
  }
}

function unusable(cause: UnsafeJsonError): GatewayError {
  return new GatewayError('UNREADABLE_BODY', `A document that a job carries is not usable: ${cause.message}`, { cause })
}

/** What the documents in one body may hold together, since the bounds of the body see each of them as a single text. */
const maxCarriedValues = 200_000
const carriesDocument: ReadonlySet<string> = new Set(['application', 'idsToIndices', 'pipeline', 'pipelines', 'pipelineTemplate'])

/**
 * Counts what the documents hold that a body carries, and those inside of them, before anything decodes them.
 *
 * @throws {GatewayError} BODY_TOO_LARGE, UNREADABLE_BODY
 */
export function checkCarriedDocuments(body: unknown): void {
  const open: unknown[] = [body]
  let left = maxCarriedValues
  while (open.length > 0) {
    const next = open.pop()
    if (Array.isArray(next)) for (const inner of next) if (typeof inner === 'object') open.push(inner)
    if (!isObject(next)) continue
    for (const key of Object.keys(next)) {
      const value = next[key]
      if (typeof value === 'object') open.push(value)
      else if (typeof value === 'string' && carriesDocument.has(key)) {
        const { values } = scanDocument(value, left)
        // A name is a single word, and carries nothing.
        if (values === 1) continue
        left -= values
        open.push(decodeDocument(value))
      }
    }
  }
}

function scanDocument(value: string, maxValues: number): JsonScan {
  const scan = new JsonScan({ maxValues })
  try {
    scan.feed(Buffer.from(value, 'base64').toString('latin1'))
    return scan
  } catch (cause) {
    if (cause instanceof UnsafeJsonError && cause.code !== 'JSON_TOO_MANY_VALUES') throw unusable(cause)
    const message = `The documents that jobs carry hold more than ${maxCarriedValues} values. Send them in several requests.`
    throw new GatewayError('BODY_TOO_LARGE', message, { cause })
  }
}
