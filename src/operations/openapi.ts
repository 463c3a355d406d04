/** Prints the OpenAPI 3.1 document from the list of operations. */
import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import { formatJson } from '../http/json.ts'
import { formatDemands } from './demands.ts'
import type { Operation } from './operation.ts'
import { createQueryRules } from './parse-query.ts'
import { parameterNames } from './path-pattern.ts'
import { nothing } from './schemas.ts'

type JsonObject = Record<string, unknown>

export interface OpenApiOptions {
  version: string
  /** Base URL that clients use; relative to the document's own address when it is unknown. */
  serverUrl?: string
}

/** Every operation has its original id, typed parameters, the success answer and the error answers. */
export function formatOpenApi(operations: readonly Operation[], options: OpenApiOptions): JsonObject {
  const paths: Record<string, JsonObject> = {}
  const named = new Map<string, string>()
  for (const operation of operations) {
    const path = toTemplate(operation.path)
    // Paths that differ in the names of their parameters only are one path to OpenAPI; the first one names them.
    const structure = path.replace(/\{\w+\}/g, '{}')
    const key = named.get(structure) ?? path
    named.set(structure, key)
    paths[key] ??= {}
    paths[key][operation.method.toLowerCase()] = toEntry(operation, parameterNames(key))
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fairlead',
      version: options.version,
      description:
        'API gateway of a continuous-delivery platform. Bodies and answers are JSON, or YAML under application/x-yaml.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: options.serverUrl ?? '/' }],
    tags: [...new Set(operations.map(tagOf))].sort().map((name) => ({ name })),
    paths,
    components: { schemas: { Error: errorSchema, Problem: problemSchema }, responses: commonResponses(), securitySchemes },
    security: [{ session: [] }, { basic: [] }, { apiToken: [] }],
  }
}

/** Stands in the formatted document where each answer has the address of the server. */
const addressMark = 'https://address-of-the-server.invalid'
/** Documents for as many addresses are kept as they are; they are megabytes, and a client can make up addresses. */
const maxKept = 8

/** The document as it is served: formatted once, in JSON and in YAML, with the address that the client has used. */
export class ApiDocument {
  readonly #load: () => JsonObject
  readonly #formatted = new Map<'json' | 'yaml', Promise<readonly string[]>>()
  readonly #kept = new Map<string, Buffer>()

  /** Formats nothing before it is asked. */
  constructor(operations: readonly Operation[], version: string) {
    this.#load = () => formatOpenApi(operations, { version, serverUrl: addressMark })
  }

  /** @returns the same bytes each time, as long as they are kept */
  async print(format: 'json' | 'yaml', serverUrl: string): Promise<Buffer> {
    const key = `${format} ${serverUrl}`
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const parts = this.#formatted.get(format) ?? formatParts(format, this.#load())
    this.#formatted.set(format, parts)
    // Text in double quotes is the same in YAML.
    const printed = Buffer.from((await parts).join(JSON.stringify(serverUrl)))
    if (this.#kept.size >= maxKept) this.#kept.clear()
    this.#kept.set(key, printed)
    return printed
  }
}

/** What stands before and after the address of the server. */
async function formatParts(format: 'json' | 'yaml', document: JsonObject): Promise<readonly string[]> {
  if (format === 'json') return formatJson(document).split(JSON.stringify(addressMark))
  return (await import('../http/yaml.ts')).formatYaml(document).split(addressMark)
}

function toTemplate(path: string): string {
  return path.replace(/\/\*\*$/, '/{rest}')
}

/** The resource that an operation belongs to, by which documents group it. */
export function tagOf({ path }: Operation): string {
  return path.split('/').find((segment) => segment !== '' && !segment.startsWith('{') && !/^v\d$/.test(segment)) ?? 'gateway'
}

function toEntry(operation: Operation, names: readonly string[]): JsonObject {
  return {
    operationId: operation.id,
    tags: [tagOf(operation)],
    summary: operation.summary,
    description: `Needs ${formatDemands(operation.demands)}. Its id is \`${operation.id}\`.`,
    'x-fairlead-demands': operation.demands,
    parameters: [
      ...names.map((name) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
        ...(name === 'rest' && { description: 'May contain slashes.' }),
      })),
      ...toQueryParameters(operation),
    ],
    ...(operation.body !== undefined && { requestBody: toRequestBody(operation.body) }),
    responses: toResponses(operation),
  }
}

function toQueryParameters(operation: Operation): JsonObject[] {
  return createQueryRules(operation.query).map(({ name, schema, required }) => {
    const { description, ...rest } = toJsonSchema(schema, 'input')
    return { name, in: 'query', required, ...(description !== undefined && { description }), schema: rest }
  })
}

function toRequestBody(rule: NonNullable<Operation['body']>): JsonObject {
  const schema = toJsonSchema(rule.schema, 'input')
  if (rule.raw) return { required: rule.required, content: { [rule.mediaType ?? 'application/json']: { schema } } }
  return {
    required: rule.required,
    content: {
      'application/json': { schema },
      'application/x-yaml': { schema },
      ...(rule.text && { 'text/plain': { schema: { type: 'string' } } }),
    },
  }
}

function toResponses(operation: Operation): JsonObject {
  const responses: Record<string, JsonObject> = { [String(operation.success ?? 200)]: toSuccess(operation) }
  for (const [status, meaning] of Object.entries(operation.errors ?? {})) {
    responses[status] = {
      description: meaning,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    }
  }
  for (const status of commonStatuses(operation)) responses[status] ??= { $ref: `#/components/responses/${status}` }
  responses['default'] = { $ref: '#/components/responses/UpstreamFailed' }
  return responses
}

function toSuccess(operation: Operation): JsonObject {
  if (operation.answer === nothing || operation.method === 'HEAD') return { description: 'Done; the answer has no body.' }
  const schema = toJsonSchema(operation.answer, 'output')
  return {
    description:
      typeof schema['description'] === 'string' ? schema['description'] : (STATUS_CODES[operation.success ?? 200] ?? 'Success'),
    content: { 'application/json': { schema }, 'application/x-yaml': { schema } },
  }
}

function commonStatuses(operation: Operation): string[] {
  const statuses = ['302', '401', '403', '406']
  if (operation.body !== undefined) statuses.push('400', '413', '415')
  else if (Object.keys(operation.query ?? {}).length > 0) statuses.push('400')
  if (operation.forward !== undefined || operation.handle !== undefined) statuses.push('502', '504')
  return statuses
}

function commonResponses(): JsonObject {
  const problem = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }
  const error = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
  return {
    302: { description: 'Nobody is logged in: to the login page.' },
    400: { description: 'A parameter or the body is missing or malformed.', content: problem },
    401: { description: 'The credentials of the request are wrong or expired.', content: error },
    403: { description: 'The user may not do this.', content: error },
    406: { description: 'The Accept header names neither JSON nor YAML.', content: problem },
    413: { description: 'The body is too large.', content: problem },
    415: { description: 'The body is neither JSON nor YAML.', content: problem },
    502: { description: 'A service could not be reached.', content: error },
    504: { description: 'A service did not answer in time.', content: error },
    UpstreamFailed: { description: 'A service answered with an error; the status is that of the service.', content: error },
  }
}

const errorFields = {
  timestamp: { type: 'string', description: 'ISO 8601 with milliseconds and offset.' },
  status: { type: 'integer' },
  error: { type: 'string', description: 'Reason phrase of the status.' },
  message: { type: 'string', description: 'What went wrong and what to do.' },
  code: { type: 'string', description: 'Stable error code.' },
  requestId: { type: 'string', description: 'Finds the request in the log.' },
  upstream: {
    type: 'object',
    description: 'The service that failed.',
    properties: { service: { type: 'string' }, status: { type: 'integer' } },
    required: ['service'],
  },
}
const errorSchema = { type: 'object', properties: errorFields, required: ['status', 'error', 'message'] }
const problemSchema = {
  type: 'object',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    ...errorFields,
  },
  required: ['type', 'title', 'status', 'detail'],
}

const securitySchemes = {
  session: { type: 'apiKey', in: 'cookie', name: 'SESSION', description: 'Cookie of a browser session; see /login.' },
  basic: { type: 'http', scheme: 'basic', description: 'User and password, for scripts.' },
  apiToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Spinnaker-Token',
    description: 'API token, for programs; see /auth/apiTokens.',
  },
}

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonObject
  return rest
}
