/** Error answers of the API document, from the table of error codes. */

import { type ErrorCode, type ErrorShape, errorCodes, errorShapeOf } from '@fairlead/base/errors.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { z } from 'zod'
import type { Operation } from '../operation.ts'
import type { ApiSchemas } from './openapi-schemas.ts'

const errorFields = {
  timestamp: z.string().optional().describe('ISO 8601 with milliseconds and offset.'),
  status: z.int(),
  error: z.string().describe('Reason phrase of the status.'),
  message: z.string().describe('What failed, and how to fix it.'),
  code: z.string().optional().describe('Stable error code; docs/reference/errors.md lists all.'),
  requestId: z.string().optional().describe('Finds the request in the log.'),
  upstream: z
    .looseObject({ service: z.string(), status: z.int().optional() })
    .optional()
    .describe('The service that failed.'),
}

const bodies = {
  error: z.looseObject(errorFields).meta({ id: 'Error' }),
  problem: z
    .looseObject({
      type: z.string(),
      title: z.string(),
      detail: z.string(),
      instance: z.string().optional(),
      ...errorFields,
    })
    .meta({ id: 'Problem', description: 'An error of the request itself, RFC 9457.' }),
  message: z
    .looseObject({ message: z.string() })
    .meta({ id: 'ErrorMessage', description: 'The answer to a request that was limited or shed.' }),
} as const satisfies Record<ErrorShape, z.ZodType>

const beforeOperations: ReadonlySet<ErrorCode> = new Set([
  'NO_ROUTE',
  'METHOD_NOT_ALLOWED',
  'HEADERS_TOO_LARGE',
])

/** Answers that many operations share, by status; `failed` is that of a service. */
const shared = {
  302: 'Without login, a browser is sent to the login page.',
  400: 'A parameter or the body is missing or malformed.',
  401: 'The credentials are missing, wrong or expired.',
  403: 'The user may not do this.',
  404: 'There is no such resource, or the service behind it is switched off.',
  406: 'The Accept header names neither JSON nor YAML.',
  413: 'The body is too large.',
  415: 'The body is neither JSON nor YAML.',
  429: 'Too many requests; Retry-After has the time to wait.',
  502: 'A service could not be reached, or its answer could not be read.',
  503: 'A service is switched off, or the platform is overloaded.',
  504: 'A service did not answer in time.',
} as const

export function addErrorSchemas(schemas: ApiSchemas): void {
  for (const [shape, schema] of Object.entries(bodies))
    schemas.add('output', `error ${shape}`, schema)
}

export function sharedErrors(schemas: ApiSchemas): Record<string, JsonObject> {
  const failed = {
    description: 'A service answered with an error; the status is that of the service.',
  }
  return {
    ...Object.fromEntries(
      Object.entries(shared).map(([status, description]) => [
        status,
        status === '302'
          ? { description }
          : { description, content: contentOf(Number(status), schemas) },
      ]),
    ),
    ServiceFailed: {
      ...failed,
      content: { 'application/json': { schema: schemas.get('output', 'error error') } },
    },
  }
}

export function ownError(status: number, description: string, schemas: ApiSchemas): JsonObject {
  return { description, content: contentOf(status, schemas) }
}

export function sharedErrorsOf(operation: Operation): Record<string, JsonObject> {
  const statuses: (keyof typeof shared)[] = [302, 401, 403, 406, 429]
  const takesQuery = Object.keys(operation.query ?? {}).length > 0
  const namesInPath = operation.path.includes('{') || operation.path.endsWith('/**')
  if (operation.body !== undefined || takesQuery || namesInPath) statuses.push(400)
  if (namesInPath || operation.missingWhenDisabled || operation.path.startsWith('/managed/'))
    statuses.push(404)
  if (operation.body !== undefined) statuses.push(413, 415)
  if (operation.forward !== undefined || operation.handle !== undefined)
    statuses.push(502, 503, 504)
  const references = statuses.map((status) => [
    status,
    { $ref: `#/components/responses/${status}` },
  ])
  return {
    ...Object.fromEntries(references),
    default: { $ref: '#/components/responses/ServiceFailed' },
  }
}

function contentOf(status: number, schemas: ApiSchemas): JsonObject {
  const codes = (Object.keys(errorCodes) as ErrorCode[]).filter(
    (code) => errorCodes[code].status === status && !beforeOperations.has(code),
  )
  const shapes = new Set<ErrorShape>(codes.length === 0 ? ['error'] : codes.map(errorShapeOf))
  const json = [...shapes]
    .filter((shape) => shape !== 'problem')
    .map((shape) => schemas.get('output', `error ${shape}`))
  return {
    ...(json.length > 0 && {
      'application/json': { schema: json.length === 1 ? json[0] : { anyOf: json } },
    }),
    ...(shapes.has('problem') && {
      'application/problem+json': { schema: schemas.get('output', 'error problem') },
    }),
  }
}
