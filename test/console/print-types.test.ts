/** The printer of the console's types: each form of a schema becomes the TypeScript that it means. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printConsoleTypes, toType } from '../../scripts/print-console-types.ts'

const forms: [meaning: string, schema: Parameters<typeof toType>[0], type: string][] = [
  ['nothing said', {}, 'unknown'],
  ['a choice of types', { type: ['string', 'null'] }, 'string | null'],
  ['an integer', { type: 'integer' }, 'number'],
  ['a constant', { const: true, type: 'boolean' }, 'true'],
  ['named values', { enum: ['a', "b'c"] }, '"a" | "b\'c"'],
  ['a reference', { $ref: '#/components/schemas/A' }, "S['A']"],
  [
    'a list of choices',
    { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
    '(string | null)[]',
  ],
  [
    'an optional field',
    { type: 'object', properties: { a: { type: 'string' } } },
    '{ a?: string }',
  ],
  [
    'a name that is no identifier',
    { type: 'object', properties: { 'a-b': {} }, required: ['a-b'] },
    "{ 'a-b': unknown }",
  ],
  [
    'an open object',
    {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: {},
    },
    'Open<{ a: string }>',
  ],
  [
    'an open object with a field that may be null',
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: ['number', 'null'] } },
      additionalProperties: {},
    },
    'Open<{ a?: string }, { b: number }>',
  ],
  [
    'a map',
    { type: 'object', additionalProperties: { type: 'number' } },
    '{ [key: string]: number }',
  ],
]

for (const [meaning, schema, type] of forms) {
  test(`${meaning} is printed as ${type}`, () => assert.equal(toType(schema), type))
}

test('operations, schemas and fields that the console does not name are left out', () => {
  const answers = (name: string) => {
    const operation = {
      responses: {
        200: {
          content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
        },
      },
    }
    return { get: operation, put: operation, delete: operation }
  }
  const schemas = {
    A: { type: 'object', properties: { b: { $ref: '#/components/schemas/B' }, d: {} } },
    B: { type: 'string' },
    C: { type: 'string' },
    Error: { type: 'object' },
  }
  const api = { paths: { '/a': answers('A'), '/c': answers('C') }, components: { schemas } }
  const text = printConsoleTypes(api, "useLive('/a'), client.PUT(\n'/a').b")
  assert.match(text, /'\/a': \{ get: .* put: /)
  assert.doesNotMatch(text, /delete: /)
  assert.doesNotMatch(text, /'\/c': \{/)
  // The only place that refers to B.
  assert.match(text, /A: \{ b\?: string \}/)
  assert.deepEqual(
    [...text.matchAll(/^ {2}(\w): /gm)].map(([, name]) => name),
    ['A'],
  )
})
