/** Requests generated from the API document: every answer is one that the document has. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { parse as parseYaml } from 'yaml'
import { isObject, type JsonObject } from '../../../packages/base/json/values.ts'
import { runGateway } from '../../support/gateway.ts'
import { createRandom } from '../../support/random.ts'

const seed = 20_261_122
const requestsPerOperation = 2
const maxDepth = 3

/** A number below the given one. */
type Dice = (sides: number) => number

interface Described {
  readonly responses: Record<string, JsonObject>
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema?: JsonObject
  }[]
  readonly requestBody?: {
    readonly required?: boolean
    readonly content: Record<string, { readonly schema?: JsonObject }>
  }
  readonly operationId: string
}

interface ApiDocument {
  readonly paths: Record<string, Record<string, Described>>
  readonly components: Record<string, Record<string, JsonObject>>
}

const odd: readonly unknown[] = [
  '',
  ' ',
  'ü🚢',
  '../x',
  '%',
  '0',
  '-1',
  'null',
  'a'.repeat(300),
  '{"a":1}',
  '1e400',
  '9007199254740993',
  '<b>',
]

/** Of each operation its own, so that another one changes no request. */
function diceOf({ operationId }: Described): Dice {
  const start = Buffer.from(operationId).reduce((sum, byte) => (sum * 31 + byte) | 0, seed)
  const random = createRandom(start)
  return (sides) => Math.floor(random() * sides)
}

/** Resolves `#/components/…`. */
function follow(document: ApiDocument, part: JsonObject): JsonObject {
  const ref = part['$ref']
  if (typeof ref !== 'string') return part
  const [, , section = '', name = ''] = ref.split('/')
  return document.components[section]?.[decodeURIComponent(name)] ?? {}
}

function generate(document: ApiDocument, given: JsonObject, dice: Dice, depth = 0): unknown {
  const schema = follow(document, given)
  if (dice(12) === 0) return [null, true, -1, 1.5, 'odd', [], {}, odd[dice(odd.length)]][dice(8)]
  const choices = (schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf']) as
    | JsonObject[]
    | undefined
  if (choices !== undefined)
    return generate(document, choices[dice(choices.length)] ?? {}, dice, depth)
  const values = schema['enum'] as unknown[] | undefined
  if (values !== undefined) return values[dice(values.length)]
  switch (schema['type']) {
    case 'string':
      return dice(3) === 0 ? odd[dice(odd.length)] : ['web', 'prod', 'p1', 'main'][dice(4)]
    case 'integer':
    case 'number':
      return [0, 1, 20, -1, 2_147_483_648][dice(5)]
    case 'boolean':
      return dice(2) === 0
    case 'array':
      return depth >= maxDepth
        ? []
        : Array.from({ length: dice(3) }, () =>
            generate(document, toSchema(schema['items']), dice, depth + 1),
          )
    case 'object':
      return generateObject(document, schema, dice, depth)
    default:
      return depth >= maxDepth
        ? 'deep'
        : generateObject(
            document,
            { properties: { name: { type: 'string' }, type: { type: 'string' } } },
            dice,
            depth,
          )
  }
}

function generateObject(
  document: ApiDocument,
  schema: JsonObject,
  dice: Dice,
  depth: number,
): JsonObject {
  const required = (schema['required'] ?? []) as string[]
  const entries = Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>).filter(
    ([name]) => depth < maxDepth && ((dice(12) > 0 && required.includes(name)) || dice(3) === 0),
  )
  return Object.fromEntries(
    entries.map(([name, property]) => [name, generate(document, property, dice, depth + 1)]),
  )
}

function toSchema(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

function generateRequest(document: ApiDocument, path: string, operation: Described, dice: Dice) {
  const query = new URLSearchParams()
  let filled = path
  for (const given of operation.parameters ?? []) {
    const value = generate(document, given.schema ?? { type: 'string' }, dice)
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    if (given.in === 'path')
      filled = filled.replace(`{${given.name}}`, encodeURIComponent(text) || 'x')
    else if (given.in === 'query' && (given.required || dice(2) === 0))
      query.append(given.name, text)
  }
  const { requestBody } = operation
  const [[type, content] = ['', {}]] = Object.entries(requestBody?.content ?? {})
  const body =
    requestBody === undefined || dice(10) === 0
      ? undefined
      : /json/.test(type)
        ? dice(12) === 0
          ? '{"broken":'
          : JSON.stringify(generate(document, toSchema(content.schema), dice))
        : 'text'
  const accept = ['application/json', '*/*', 'application/x-yaml'][dice(3)] as string
  return {
    path: query.size === 0 ? filled : `${filled}?${query}`,
    headers: { accept, ...(body !== undefined && { 'content-type': type }) },
    body,
  }
}

/** What the document does not have; undefined for a good answer. */
function findFault(
  document: ApiDocument,
  { responses }: Described,
  status: number,
  type: string,
  text: string,
): string | undefined {
  const answer = parse(text, type)
  if (text.includes('"UNEXPECTED"') || text.includes('code: UNEXPECTED')) return 'a defect'
  const own = answer?.['upstream']
  const isOfService = isObject(own) && own['status'] === status
  // Embedded services answer 503 where something is missing, and say what.
  if (isOfService && status >= 500 && status !== 503) return 'a back end failed'
  const described = responses[String(status)] ?? (isOfService ? responses['default'] : undefined)
  if (described === undefined) return 'the status is not documented'
  const types = Object.keys(
    (follow(document, described)['content'] as JsonObject | undefined) ?? {},
  )
  const media = type.split(';', 1)[0] ?? ''
  if (text === '' || types.length === 0 || types.includes(media)) return undefined
  return /yaml/.test(media) && types.some((one) => /json/.test(one))
    ? undefined
    : `the media type is none of ${types.join()}`
}

function parse(text: string, type: string): JsonObject | undefined {
  const value: unknown = /yaml|json/.test(type) ? parseYaml(text) : undefined
  return isObject(value) ? value : undefined
}

/** A stream has no end; its head is judged like any other. */
async function readAnswer(answer: Response): Promise<string> {
  const type = answer.headers.get('content-type') ?? ''
  if (!/^(text\/event-stream|application\/x-ndjson)/.test(type)) return answer.text()
  await answer.body?.cancel()
  return ''
}

test(`requests from the document get documented answers, seed ${seed}`, async (t) => {
  const failures: string[] = []
  const { url } = await runGateway(
    t,
    { 'task-service': { maxNumberOfPolls: 2, defaultIntervalBetweenPolls: 10 } },
    {
      embedded: true,
      log: (line) =>
        void (
          Number(line['level']) >= 50 &&
          failures.push(`logged: ${JSON.stringify(line).slice(0, 600)}`)
        ),
    },
  )
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument
  const cases = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      if (operation.responses === undefined) return []
      const dice = diceOf(operation)
      return Array.from({ length: requestsPerOperation }, () => ({
        method: method.toUpperCase(),
        operation,
        ...generateRequest(document, path, operation, dice),
      }))
    }),
  )
  for (const { method, operation, path, headers, body } of cases) {
    const answer = await fetch(url + path, {
      method,
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(60_000),
    })
    const text = method === 'HEAD' ? '' : await readAnswer(answer)
    const fault = findFault(
      document,
      operation,
      answer.status,
      answer.headers.get('content-type') ?? '',
      text,
    )
    if (fault !== undefined) {
      failures.push(
        `${fault}: ${method} ${path} ${headers.accept} ${body?.slice(0, 300)} → ${answer.status} ${answer.headers.get('content-type')} ${text.slice(0, 300)}`,
      )
    }
  }
  assert.deepEqual(failures, [])
})
