import assert from 'node:assert/strict'
import test from 'node:test'
import type { z } from 'zod'
import { flagModel, integer, textList, textModel } from '../../../packages/base/json/schemas.ts'
import { allOperations } from '../../../packages/gateway/operations/all.ts'
import {
  createQueryRules,
  parseQuery,
} from '../../../packages/gateway/operations/serving/parse-query.ts'

/** What names the thing that the request is about; an empty name would be about nothing. */
const refusedWhenEmpty = [
  'GET /auth/explain operation',
  'GET /canaryConfig/names application',
  'GET /executions/failedStages executionId',
  'GET /pipelineTemplates/resolve source',
  'GET /search type',
  'GET /v2/canaries/{application}/executions limit',
  'POST /admin/executions/hydrate executionId',
  'PUT /admin/executions/forceCancel executionId',
  'PUT /tasks/cancel ids',
]

test('only names and numbers are refused when empty', () => {
  const refused = allOperations.flatMap(({ method, path, query }) =>
    createQueryRules(query).flatMap((rule) =>
      isRefused(() => parseQuery([rule], new URLSearchParams([[rule.name, '']])))
        ? [`${method} ${path} ${rule.name}`]
        : [],
    ),
  )
  assert.deepEqual(refused.sort(), refusedWhenEmpty)
})

test('whatever is required is refused when it is missing', () => {
  for (const { method, path, query } of allOperations) {
    for (const rule of createQueryRules(query).filter(({ required }) => required)) {
      assert.ok(
        isRefused(() => parseQuery([rule], new URLSearchParams())),
        `${method} ${path} ${rule.name}`,
      )
    }
  }
})

test('blanks around numbers, flags and names in lists do not count', () => {
  const parse = (schema: z.ZodType, query: string) =>
    parseQuery(createQueryRules({ x: schema }), new URLSearchParams(query)).query['x']
  assert.equal(parse(integer, 'x=+5'), 5)
  assert.equal(parse(integer, 'x=%2B5%20'), 5)
  assert.equal(parse(flagModel, 'x=%20yes'), true)
  assert.deepEqual(parse(textList, 'x=a,%20b,,&x=c'), ['a', 'b', 'c'])
  assert.equal(parse(textList.optional(), 'x=%20,'), undefined)
  assert.equal(parse(textModel, 'x=+5'), ' 5')
})

function isRefused(parse: () => unknown): boolean {
  try {
    parse()
    return false
  } catch {
    return true
  }
}
