import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { validate } from '@readme/openapi-parser'
import { Validator } from '@seriousme/openapi-schema-validator'
import { parse } from 'yaml'
import type { z } from 'zod'
import { allOperations, subjects } from '../../../packages/gateway/operations/all.ts'
import { answerFormOf } from '../../../packages/gateway/operations/serving/answer-form.ts'
import { examples } from '../../../packages/gateway/operations/serving/examples.ts'
import { ApiDocument, formatOpenApi } from '../../../packages/gateway/operations/serving/openapi.ts'
import { jsonObject } from '../../../packages/gateway/upstreams/answer-form.ts'
import { startGateway } from '../../support/gateway.ts'

interface Schema {
  $ref?: string
  minLength?: number
  minItems?: number
  properties: Record<string, Schema | undefined>
}

type Content = Record<string, { schema: Schema }>

interface Entry {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security?: unknown[]
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content }>
}

interface ApiContent {
  openapi: string
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Entry>>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, { content?: Content }>
    securitySchemes: Record<string, unknown>
  }
  security: Record<string, unknown>[]
}

const root = resolve(import.meta.dirname, '../../..')
const document = formatOpenApi(subjects, {
  version: '1.2.3',
  serverUrl: 'https://gate.example.com',
}) as unknown as ApiContent
const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, entry]) => ({ path, method, entry })),
)

function find(id: string): Entry {
  const found = entries.find(({ entry }) => entry.operationId === id)
  assert.ok(found, id)
  return found.entry
}

function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/** Validators resolve references in the object that they are given. */
function copy() {
  return JSON.parse(JSON.stringify(document))
}

test('two validators find the document to be OpenAPI 3.1', async () => {
  const validator = new Validator()
  const result = await validator.validate(copy())
  assert.deepEqual(result.errors ?? [], [])
  assert.equal(result.valid, true)
  assert.equal(validator.version, '3.1')
  const second = await validate(copy())
  assert.deepEqual(second.valid ? second.warnings : second.errors, [])
})

test('summaries have six words at most, and tags are described', () => {
  const long = entries.filter(
    ({ entry }) => entry.summary.split(' ').length > 6 || entry.summary.endsWith('.'),
  )
  assert.deepEqual(
    long.map(({ entry }) => entry.summary),
    [],
  )
  const described = new Set(
    document.tags.map(({ name, description }) => (description.length > 10 ? name : '')),
  )
  assert.deepEqual(
    entries
      .filter(({ entry }) => !entry.tags.every((tag) => described.has(tag)))
      .map(({ entry }) => entry.operationId),
    [],
  )
})

test('core operations come first', () => {
  const core = new Set(allOperations.filter((operation) => operation.core).map(({ id }) => id))
  const paths = Object.values(document.paths).map((methods) =>
    Object.values(methods).some(({ operationId }) => core.has(operationId)),
  )
  assert.deepEqual(
    paths,
    paths.toSorted((a, b) => Number(b) - Number(a)),
  )
})

test('every JSON body is a component that generators can name', () => {
  const nameless = entries.filter(({ entry }) => {
    const json = entry.requestBody?.content['application/json']
    return json !== undefined && json.schema.$ref === undefined
  })
  assert.deepEqual(
    nameless.map(({ entry }) => entry.operationId),
    [],
  )
})

test('no object is closed, so that later fields break no client', () => {
  assert.doesNotMatch(JSON.stringify(document), /"additionalProperties":false/)
})

test('examples show what their operations take and give', () => {
  assert.ok(Object.keys(examples).length >= 30)
  const misfits: string[] = []
  const check = (what: string, schema: z.ZodType | undefined, value: unknown) => {
    const { error } =
      schema === undefined
        ? { error: { issues: [{ path: [], message: 'not declared' }] } }
        : schema.safeParse(value)
    for (const { path, message } of error?.issues ?? [])
      misfits.push(`${what} ${path.join('.')}: ${message}`)
  }
  for (const [id, { parameters = {}, bodies = {}, answer }] of Object.entries(examples)) {
    const operation = allOperations.find((one) => one.id === id)
    const inPath = find(id).parameters.filter((one) => one.in === 'path')
    for (const [name, value] of Object.entries(parameters))
      if (!inPath.some((one) => one.name === name))
        check(`${id} ${name}`, operation?.query?.[name], value)
    for (const [name, { value }] of Object.entries(bodies)) {
      check(`${id} ${name}`, operation?.body?.schema, value)
      check(`${id} ${name}`, operation?.body?.shown ?? operation?.body?.schema, value)
    }
    if (answer !== undefined) check(`${id} answer`, operation?.answer, answer)
  }
  assert.deepEqual(misfits, [])
})

test('what a service answers is judged by its form alone', () => {
  const typed = allOperations.filter(({ id }) =>
    /^get(Pipeline|Application|Task)UsingGET1?$/.test(id),
  )
  assert.equal(typed.length, 4)
  for (const { answer } of typed) assert.deepEqual(answerFormOf(answer), jsonObject)
})

test('names and types are those that Go and Python can have', () => {
  const clashes = (names: string[]) =>
    names.filter((name, index) => names.findIndex((one) => sameName(one, name)) !== index)
  assert.deepEqual(clashes(entries.map(({ entry }) => entry.operationId)), [])
  const components = Object.keys(document.components.schemas)
  assert.deepEqual(clashes(components), [])
  assert.deepEqual(
    components.filter((name) => !/^[A-Z][A-Za-z0-9]*$/.test(name)),
    [],
  )
  for (const { entry } of entries) {
    const answer = Object.entries(entry.responses).find(
      ([status]) => /^[23]/.test(status) && status !== '302',
    )?.[1]
    for (const content of [entry.requestBody?.content, answer?.content])
      assert.ok(Object.keys(content ?? {}).length <= 1, entry.operationId)
  }
  // A type may be absent or null, but not one of two.
  const types = [
    ...JSON.stringify(document.components.schemas).matchAll(/"type":\[([^\]]*)\]/g),
  ].map(([, list]) => list)
  assert.deepEqual(
    types.filter((list) => !/^"\w+","null"$/.test(list ?? '')),
    [],
  )
})

test('an instance that is not ready answers 503 with its state', () => {
  assert.deepEqual(
    find('readinessUsingGET').responses['503']?.content?.['application/json']?.schema,
    {
      $ref: '#/components/schemas/Health',
    },
  )
})

test('an empty value is documented as refused where it is refused', () => {
  const search = find('searchUsingGET')
  const schemaOf = (name: string) =>
    search.parameters.find((parameter) => parameter.name === name)?.schema
  assert.equal(
    find('getFailedStagesForPipelineExecutionUsingGET').parameters[0]?.schema.minLength,
    1,
  )
  assert.equal(find('cancelTasksUsingPUT').parameters[0]?.schema.minItems, 1)
  assert.equal(schemaOf('q')?.minLength, undefined)
  assert.equal(document.components.schemas['Pipeline']?.properties['application']?.minLength, 1)
  for (const { entry } of entries)
    for (const parameter of entry.parameters.filter((one) => one.in === 'path'))
      assert.equal(parameter.schema.minLength, 1)
})

test('errors have the media types of their codes', () => {
  const typesOf = (status: string) =>
    Object.keys(document.components.responses[status]?.content ?? {})
  assert.deepEqual(typesOf('400'), ['application/json', 'application/problem+json'])
  assert.deepEqual(typesOf('401'), ['application/json'])
  assert.deepEqual(typesOf('415'), ['application/problem+json'])
  assert.deepEqual(
    Object.keys(find('savePipelineUsingPOST').responses['400']?.content ?? {}),
    typesOf('400'),
  )
})

test('open operations need no credentials, the others accept a bearer token', () => {
  assert.deepEqual(
    document.security.flatMap(Object.keys),
    Object.keys(document.components.securitySchemes),
  )
  assert.ok('bearer' in document.components.securitySchemes)
  assert.deepEqual(find('healthUsingGET').security, [])
  assert.deepEqual(find('userUsingGET').security, [{}, ...document.security])
  assert.equal(find('getAllApplicationsUsingGET').security, undefined)
})

test("a description names the operation's demands and id", () => {
  const descriptionOf = (id: string) =>
    entries.find(({ entry }) => entry.operationId === id)?.entry.description
  assert.equal(
    descriptionOf('getApplicationUsingGET'),
    'One application: its attributes and, unless `expand=false`, its clusters by account. Needs READ on the application in the path. Its id is `getApplicationUsingGET`.',
  )
  assert.equal(
    descriptionOf('getPipelinesUsingGET'),
    'Needs READ on the application in the path; entries that the caller may not READ are left out (by application). Its id is `getPipelinesUsingGET`.',
  )
  assert.match(descriptionOf('getAllApplicationsUsingGET') ?? '', / Needs nothing; entries that /)
  assert.match(
    descriptionOf('evaluateVariablesUsingPOST') ?? '',
    / Needs READ on the application of the execution\. Its id/,
  )
})

test('every core operation is described once', () => {
  const text = readFileSync(join(root, 'test/fixtures/core-operations.json'), 'utf8')
  const coreOperations = JSON.parse(text) as { id: string; method: string; path: string }[]
  assert.equal(coreOperations.length, 93)
  const nameless = (path: string) => path.replace(/\{\w+\}|\*\*/g, '{}')
  for (const { id, method, path } of coreOperations) {
    const found = entries.filter(({ entry }) => entry.operationId === id)
    assert.equal(found.length, 1, id)
    assert.equal(found[0]?.method.toUpperCase(), method, id)
    assert.equal(nameless(found[0]?.path ?? ''), nameless(path), id)
  }
})

test('every served operation is described under its own id', () => {
  const ids = entries.map(({ entry }) => entry.operationId)
  assert.deepEqual(ids.toSorted(), allOperations.map(({ id }) => id).toSorted())
  assert.equal(new Set(ids).size, ids.length)
})

test('the parameters of a path are declared, required, and no others', () => {
  for (const { path, entry } of entries) {
    const inPath = entry.parameters.filter((parameter) => parameter.in === 'path')
    assert.deepEqual(
      inPath.map(({ name }) => name).sort(),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(),
      path,
    )
    assert.ok(inPath.every(({ required }) => required))
    const names = entry.parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
    assert.equal(new Set(names).size, names.length, path)
  }
})

test('every operation describes its success and its failures', () => {
  for (const { entry } of entries) {
    assert.ok(
      Object.keys(entry.responses).some((status) => /^[23]/.test(status)),
      entry.operationId,
    )
    assert.ok(entry.responses['default'], entry.operationId)
  }
})

for (const path of ['/openapi.json', '/v3/api-docs', '/v2/api-docs']) {
  test(`${path} serves the document with the gateway's address`, async (t) => {
    const gateway = await startGateway(t, { server: { servlet: { 'context-path': '/gate' } } })
    const answer = await fetch(gateway + path)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'application/json')
    const served = (await answer.json()) as ApiContent
    assert.equal(served.openapi, '3.1.0')
    assert.deepEqual(served.servers, [{ url: gateway }])
    assert.deepEqual(Object.keys(served.paths), Object.keys(document.paths))
  })
}

test('the document is formatted once, whatever address and format clients use', async () => {
  let formatted = 0
  const counted = new Proxy([...subjects], {
    get: (target, name, receiver) => {
      if (name === 'map') formatted++
      return Reflect.get(target, name, receiver)
    },
  })
  const served = new ApiDocument(counted, '1.2.3')
  const first = await served.print('json', 'https://a.example/"gate"')
  assert.equal(await served.print('json', 'https://a.example/"gate"'), first)
  for (let index = 0; index < 20; index++) {
    const url = `https://gate-${index}.example`
    assert.deepEqual(
      (JSON.parse((await served.print('json', url)).toString()) as ApiContent).servers,
      [{ url }],
    )
  }
  assert.equal(formatted, 1)
  const yaml = parse((await served.print('yaml', 'https://a.example/"gate"')).toString()) as unknown
  assert.deepEqual(yaml, JSON.parse(first.toString()))
  assert.equal(formatted, 2)
})
