/** Prints the OpenAPI 3.1 document from the operations, grouped by subject. */
import http from 'node:http'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { formatYamlAside } from '@fairlead/base/json/bodies/documents-aside.ts'
import { formatJson } from '@fairlead/base/json/json.ts'
import { AnyObject, nothing } from '@fairlead/base/json/schemas.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { z } from 'zod'
import type { PathTemplate } from '../../http/path-template.ts'
import { alwaysOpen, type OpenPath, OpenPathIndex } from '../../login/open-paths.ts'
import { formatDemands } from '../demands.ts'
import type { BodyRule, Operation, Subject } from '../operation.ts'
import type { PrintedDocument } from '../platform.ts'
import { routeOf } from '../route.ts'
import { examples } from './examples.ts'
import { addErrorSchemas, ownError, sharedErrors, sharedErrorsOf } from './openapi-errors.ts'
import { ApiSchemas } from './openapi-schemas.ts'
import { createQueryRules, type QueryRule } from './parse-query.ts'

interface OpenApiOptions {
  version: string
  serverUrl?: string
}

export function formatOpenApi(subjects: readonly Subject[], options: OpenApiOptions): JsonObject {
  const schemas = new ApiSchemas()
  addErrorSchemas(schemas)
  for (const { operations } of subjects)
    for (const operation of operations) addSchemas(operation, schemas)
  const paths = formatPaths(subjects, schemas)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fairlead',
      version: options.version,
      description:
        'API gateway of a continuous-delivery platform. Bodies and answers are JSON. Every operation that takes or gives JSON also takes YAML as `application/x-yaml`, and gives it under `Accept: application/x-yaml`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: options.serverUrl ?? '/' }],
    tags: subjects.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.components(),
      responses: sharedErrors(schemas),
      securitySchemes,
    },
    security: anyCredentials(),
  }
}

/** Stands in the formatted document where each answer has the address of the server. */
const addressMark = 'https://address-of-the-server.invalid'
/** Documents for as many addresses are kept as they are; they are large, and a client can make up addresses. */
const maxKept = 8

export class ApiDocument implements PrintedDocument {
  readonly #subjects: readonly Subject[]
  readonly #version: string
  readonly #formatted = new Map<'json' | 'yaml', Promise<readonly string[]>>()
  readonly #kept = new BoundedMap<string, Buffer>(maxKept)

  constructor(subjects: readonly Subject[], version: string) {
    this.#subjects = subjects
    this.#version = version
  }

  async print(format: 'json' | 'yaml', serverUrl: string): Promise<Buffer> {
    const key = `${format} ${serverUrl}`
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const parts = this.#formatted.getOrInsertComputed(format, () =>
      formatParts(
        format,
        formatOpenApi(this.#subjects, { version: this.#version, serverUrl: addressMark }),
      ),
    )
    // Text in double quotes is the same in YAML.
    const printed = Buffer.from((await parts).join(JSON.stringify(serverUrl)))
    this.#kept.set(key, printed)
    return printed
  }
}

async function formatParts(
  format: 'json' | 'yaml',
  document: JsonObject,
): Promise<readonly string[]> {
  if (format === 'json') return formatJson(document).split(JSON.stringify(addressMark))
  const yaml = await formatYamlAside(formatJson(document), { isStranger: false })
  return yaml.toString().split(addressMark)
}

function addSchemas(operation: Operation, schemas: ApiSchemas): void {
  const { id, body, answer } = operation
  for (const { name, schema } of createQueryRules(operation.query))
    schemas.add('input', `${id} query ${name}`, schema)
  if (body !== undefined) schemas.add('input', `${id} body`, shownBody(body))
  if (answer !== nothing) schemas.add('output', `${id} answer`, answer)
  for (const [status, own] of Object.entries(operation.errorAnswers ?? {}))
    schemas.add('output', `${id} ${status}`, own)
}

function shownBody({ schema, shown }: BodyRule): z.ZodType {
  return shown ?? schema
}

function formatPaths(
  subjects: readonly Subject[],
  schemas: ApiSchemas,
): Record<string, JsonObject> {
  const paths: Record<string, JsonObject> = {}
  const named = new Map<string, PathTemplate>()
  const tagged = subjects.flatMap(({ name, operations }) =>
    operations.map((operation) => ({ tag: name, operation })),
  )
  const core = tagged.filter(({ operation }) => operation.core)
  const others = tagged.filter(({ operation }) => !operation.core)
  for (const { tag, operation } of [...core, ...others]) {
    const { path } = routeOf(operation)
    // Paths that differ in the names of their parameters only are one path to OpenAPI; the first one names them.
    const { address, names } = named.getOrInsert(path.shape, path)
    paths[address] ??= {}
    paths[address][operation.method.toLowerCase()] = toEntry(operation, { tag, names, schemas })
  }
  return paths
}

interface EntryContext {
  tag: string
  names: readonly string[]
  schemas: ApiSchemas
}

function toEntry(operation: Operation, { tag, names, schemas }: EntryContext): JsonObject {
  const { id, method, path, summary, description, demands, body } = operation
  const sentences = [description, `Needs ${formatDemands(demands)}.`, `Its id is \`${id}\`.`]
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: sentences.filter((sentence) => sentence !== undefined).join(' '),
    'x-fairlead-demands': demands,
    ...(operation.shared !== undefined && { 'x-fairlead-shared': operation.shared }),
    ...toSecurity(openPaths.find(method, path)),
    parameters: [
      ...names.map((name) => ({ ...toPathParameter(name), ...toExample(id, name) })),
      ...createQueryRules(operation.query).map((rule) => ({
        ...toQueryParameter(rule, schemas.get('input', `${id} query ${rule.name}`)),
        ...toExample(id, rule.name),
      })),
    ],
    ...(body !== undefined && { requestBody: toRequestBody(operation, body, schemas) }),
    responses: toResponses(operation, schemas),
  }
}

/** Open operations ignore credentials, or use them where a request has some. */
function toSecurity(open: OpenPath | undefined): JsonObject {
  if (open === undefined) return {}
  return { security: open.identity === 'none' ? [] : [{}, ...anyCredentials()] }
}

function anyCredentials(): JsonObject[] {
  return Object.keys(securitySchemes).map((name) => ({ [name]: [] }))
}

const pathParameters: Readonly<Record<string, string>> = {
  account: 'Name of the account.',
  application: 'Name of the application.',
  applicationName: 'Name of the application.',
  buildMaster: 'Name of the build server.',
  cloudProvider: 'Id of the cloud provider, such as `kubernetes`.',
  clusterName: 'Name of the cluster.',
  pipelineConfigId: 'Id of the pipeline definition.',
  pipelineName: 'Name of the pipeline; its id, too, where it is read or started.',
  region: 'Region, or namespace of Kubernetes.',
  rest: 'May contain slashes.',
  serverGroupName: 'Name of the server group.',
  source: 'Where the event comes from.',
  stageId: 'Id of the stage.',
}

function toPathParameter(name: string): JsonObject {
  const description = pathParameters[name]
  return {
    name,
    in: 'path',
    required: true,
    ...(description !== undefined && { description }),
    schema: { type: 'string', minLength: 1 },
  }
}

function toQueryParameter(
  { name, required }: QueryRule,
  { description, ...schema }: JsonObject,
): JsonObject {
  return { name, in: 'query', required, ...(description !== undefined && { description }), schema }
}

function toExample(id: string, parameter: string): JsonObject {
  const example = examples[id]?.parameters?.[parameter]
  return example === undefined ? {} : { example }
}

/** Generators make a type of a body only when it has a name. */
function toRequestBody({ id }: Operation, rule: BodyRule, schemas: ApiSchemas): JsonObject {
  const { required, raw, mediaType } = rule
  if (raw && mediaType !== undefined)
    return { required, content: { [mediaType]: { schema: schemas.get('input', `${id} body`) } } }
  const name = shownBody(rule) === AnyObject ? 'AnyObject' : toBodyName(id)
  const schema = schemas.reference('input', `${id} body`, name)
  const bodies = examples[id]?.bodies
  return {
    required,
    content: { 'application/json': { schema, ...(bodies !== undefined && { examples: bodies }) } },
  }
}

/** `savePipelineUsingPOST` has the body SavePipelineBody. */
function toBodyName(id: string): string {
  const words = id.replace(/Using[A-Z]+(\d*)$/, '$1')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}Body`
}

function toResponses(operation: Operation, schemas: ApiSchemas): JsonObject {
  const responses: Record<string, JsonObject> = {
    ...sharedErrorsOf(operation),
    [String(operation.success ?? 200)]: toSuccess(operation, schemas),
  }
  for (const [status, meaning] of Object.entries(operation.errors ?? {})) {
    responses[status] =
      operation.errorAnswers?.[Number(status)] === undefined
        ? ownError(Number(status), meaning, schemas)
        : {
            description: meaning,
            content: {
              'application/json': { schema: schemas.get('output', `${operation.id} ${status}`) },
            },
          }
  }
  return responses
}

function toSuccess(operation: Operation, schemas: ApiSchemas): JsonObject {
  if (operation.answer === nothing || operation.method === 'HEAD')
    return { description: 'Done; the answer has no body.' }
  const schema = schemas.get('output', `${operation.id} answer`)
  const example = examples[operation.id]?.answer
  return {
    description:
      typeof schema['description'] === 'string'
        ? schema['description']
        : (http.STATUS_CODES[operation.success ?? 200] ?? 'Success'),
    content: {
      [operation.answerType ?? 'application/json']: {
        schema,
        ...(example !== undefined && { example }),
      },
    },
  }
}

const openPaths = new OpenPathIndex(alwaysOpen)

const securitySchemes = {
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'SESSION',
    description:
      'Cookie of a browser session; see /login. Where a browser is logged in it needs no value.',
  },
  basic: { type: 'http', scheme: 'basic', description: 'User and password, for scripts.' },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'API token, or an access token of the OAuth 2.0 provider.',
  },
  apiToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Spinnaker-Token',
    description: 'API token, for programs; see /auth/apiTokens.',
  },
}
