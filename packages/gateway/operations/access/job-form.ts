/** The form of jobs: their types and the documents that they carry as text. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { JsonScan, parseJson, UnsafeJsonError } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { typesOf } from '@fairlead/model/rights/privileged-stages.ts'

/** A document is carried as JSON in base64; anything else is the value itself. @throws {GatewayError} UNREADABLE_BODY */
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
  return new GatewayError(
    'UNREADABLE_BODY',
    `A document that a job carries is not usable: ${cause.message}`,
    { cause },
  )
}

const documentKeys: ReadonlySet<string> = new Set([
  'idsToIndices',
  'pipeline',
  'pipelines',
  'pipelineTemplate',
])

/** Whether a member is a document as text. Only a change of the order of definitions carries its application in this form. */
function isDocument(key: string, value: unknown, owner: object): value is string {
  if (typeof value !== 'string') return false
  return (
    documentKeys.has(key) ||
    (key === 'application' && typesOf(owner as JsonObject).includes('reorderpipelines'))
  )
}

export function readMember(key: string, value: unknown, owner: object): unknown {
  return isDocument(key, value, owner) ? decodeDocument(value) : value
}

/**
 * Visits the members of all objects and lists in a body.
 *
 * @param visit Returns the value whose members are visited next, such as what a text carries; undefined for none
 */
export function walkBody(
  body: unknown,
  visit: (key: string, value: unknown, owner: object) => unknown,
): void {
  const open: unknown[] = [body]
  while (open.length > 0) {
    const owner = open.pop()
    if (!(Array.isArray(owner) || isObject(owner)) || Buffer.isBuffer(owner)) continue
    for (const [key, value] of Object.entries(owner)) {
      const next = visit(key, value, owner)
      if (typeof next === 'object') open.push(next)
    }
  }
}

/** What the documents in one body may hold together, since the bounds of the body see each of them as a single text. */
const maxCarriedValues = 200_000

export function checkCarriedDocuments(body: unknown): void {
  let left = maxCarriedValues
  walkBody(body, (key, value, owner) => {
    if (!isDocument(key, value, owner)) return value
    const { values } = scanDocument(value, left)
    // A name is a single word, and carries nothing.
    if (values === 1) return undefined
    left -= values
    return decodeDocument(value)
  })
}

function scanDocument(value: string, maxValues: number): JsonScan {
  const scan = new JsonScan({ maxValues })
  try {
    scan.feed(Buffer.from(value, 'base64').toString('latin1'))
    return scan
  } catch (cause) {
    if (cause instanceof UnsafeJsonError && cause.code !== 'JSON_TOO_MANY_VALUES')
      throw unusable(cause)
    const message = `The documents that jobs carry hold more than ${maxCarriedValues} values. Send them in several requests.`
    throw new GatewayError('BODY_TOO_LARGE', message, { cause })
  }
}
