/** Fastify without JSON schemas: zod checks what is declared. Neither Ajv nor fast-json-stringify is loaded, in any thread. */
import type { FastifyServerOptions } from 'fastify'

function reject(): never {
  throw new Error('routes have no JSON schemas: declare parameters, bodies and answers with zod')
}

export const withoutSchemas = {
  compilersFactory: { buildValidator: reject, buildSerializer: reject },
} satisfies FastifyServerOptions['schemaController']
