/** Refusals of the API server in words that lead on: immutable fields, and unknown ones with the field that was meant. */
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { nearestName } from '@fairlead/base/names/edit-distance.ts'
import { type ApiError, isApiError } from '../api/api-error.ts'
import { type ApiResource, collectionPath } from '../api/cluster-api.ts'
import {
  describeImmutableChange,
  type ImmutableChange,
  immutableChangeOf,
  isImmutableRefusal,
} from '../manifests/immutable.ts'
import { describeUnquoted } from '../manifests/input.ts'
import { isSecret } from '../manifests/secrets.ts'
import type { KubeObject } from '../objects.ts'
import type { ManifestRun } from './parts.ts'
import { type PreparedManifest, toWire } from './prepared.ts'
import { describeObjectPlace, type TargetObject } from './targets.ts'

/** The task reports the change as its detail. */
class ImmutableFieldError extends Error {
  readonly details: readonly ImmutableChange[]

  constructor(change: ImmutableChange, cause: unknown) {
    super(describeImmutableChange(change), { cause })
    this.details = [change]
  }
}

const text = or(textOf, '')
const toCauses = shape({ causes: list(shape({ field: text, message: text })) })

/** What is to be thrown instead of a refusal; the error itself where nothing more is known. */
export async function explainRefusal(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
  error: unknown,
): Promise<unknown> {
  const [unquoted] = isApiError(error) ? describeUnquoted(prepared.manifest) : []
  if (unquoted !== undefined)
    return new Error(`${(error as ApiError).message} ${unquoted}`, { cause: error })
  if (!isApiError(error, 400, 403, 422)) return error
  if (live !== undefined && isImmutableRefusal(error.message)) {
    const { account } = running
    const change = immutableChangeOf({
      kind: prepared.kind.name,
      object: describeObjectPlace(account, prepared.name, prepared.namespace),
      named: toCauses(error.details).causes.map(({ field }) => field),
      live,
      wanted: toWire(prepared),
      isSecret: isSecret(prepared.manifest),
    })
    return new ImmutableFieldError(change, error)
  }
  return isAboutUnknownFields(error) ? await explainUnknownFields(running, prepared, error) : error
}

function isAboutUnknownFields({ message }: ApiError): boolean {
  return /field not declared in schema|unknown field "/.test(message)
}

async function explainUnknownFields(
  running: ManifestRun,
  prepared: PreparedManifest,
  error: ApiError,
): Promise<unknown> {
  const { name, namespace, resource } = prepared
  return unknownFieldsError(running, error, {
    resource,
    subject: describeObjectPlace(running.account, name, namespace),
    message: await strictRefusal(running, prepared, error),
  })
}

/** Like `explainRefusal`, for a patch, which names all unknown fields. */
export async function explainPatchRefusal(
  running: ManifestRun,
  { name, place }: Pick<TargetObject, 'name' | 'place'>,
  error: unknown,
): Promise<unknown> {
  if (!isApiError(error, 400, 422) || !isAboutUnknownFields(error)) return error
  const { resource, namespace } = place
  const subject = describeObjectPlace(running.account, name, namespace)
  return unknownFieldsError(running, error, { resource, subject, message: error.message })
}

interface UnknownFields {
  readonly resource: ApiResource
  readonly subject: string
  /** Message of the API server. */
  readonly message: string
}

async function unknownFieldsError(
  running: ManifestRun,
  error: ApiError,
  { resource, subject, message }: UnknownFields,
): Promise<unknown> {
  const fields = unknownFieldsIn(message)
  if (fields.length === 0) return error
  const schemas = await schemasOf(running, resource).catch(() => undefined)
  const words = fields.map((path) => {
    const near = schemas && nearestField(schemas, path)
    return near === undefined ? path : `${path} (did you mean ${near}?)`
  })
  const [noun, pronoun] = fields.length === 1 ? ['field', 'it'] : ['fields', 'them']
  return new Error(
    `${subject}: unknown ${noun} ${words.join(', ')}. Correct or remove ${pronoun}.`,
    { cause: error },
  )
}

/** An apply stops at the first unknown field; a creation that is not stored names them all. */
async function strictRefusal(
  { account }: ManifestRun,
  prepared: PreparedManifest,
  error: ApiError,
): Promise<string> {
  if (error.message.includes('unknown field "')) return error.message
  const { resource, namespace } = prepared
  try {
    await account.api.create(resource, namespace, toWire(prepared), {
      dryRun: true,
      isStrict: true,
    })
    return error.message
  } catch (all) {
    return isApiError(all, 400) && isAboutUnknownFields(all) ? all.message : error.message
  }
}

function unknownFieldsIn(message: string): string[] {
  const strict = [...message.matchAll(/unknown field "([^"]+)"/g)].map(([, path = '']) => path)
  if (strict.length > 0) return [...new Set(strict)].sort()
  return message.split('\n').flatMap((line) => {
    const end = line.indexOf(': field not declared in schema')
    if (end < 0) return []
    return [line.slice(line.lastIndexOf(' ', end - 1) + 1, end).replace(/^\./, '')]
  })
}

interface Schemas {
  readonly all: JsonObject
  readonly root: JsonObject | undefined
}

const toDocument = shape({
  components: shape({ schemas: (value: unknown) => value as JsonObject }),
})

async function schemasOf({ account }: ManifestRun, resource: ApiResource): Promise<Schemas> {
  // The place of the collection's group and version, as `/apis/apps/v1`.
  const group = collectionPath(resource, '').replace(/\/[^/]*$/, '')
  const document = await account.api.read(`/openapi/v3${group}`)
  const all = toDocument(document).components.schemas
  const root = Object.values(all).find((schema) =>
    objectsOf((schema as JsonObject)['x-kubernetes-group-version-kind']).some(
      ({ group: itsGroup, kind, version }) =>
        itsGroup === resource.group && kind === resource.kind && version === resource.version,
    ),
  )
  return { all, root: isObject(root) ? root : undefined }
}

/** The field of the schema that is written most alike; undefined where none is. */
function nearestField({ all, root }: Schemas, path: string): string | undefined {
  const keys = path.match(/[^.[\]]+/g) ?? []
  const written = keys.at(-1) ?? ''
  let schema = root
  for (const key of keys.slice(0, -1)) schema = schemaBelow(all, schema, key)
  const names = Object.keys(propertiesOf(resolved(all, schema)))
  return nearestName(names, written)
}

function schemaBelow(
  all: JsonObject,
  schema: JsonObject | undefined,
  key: string,
): JsonObject | undefined {
  const whole = resolved(all, schema)
  // `0` or `name="main"` is an entry of a list.
  const next = /^\d+$|=/.test(key)
    ? whole?.['items']
    : (propertiesOf(whole)[key] ?? whole?.['additionalProperties'])
  return isObject(next) ? next : undefined
}

/** Without the references by which documents share schemas. */
function resolved(all: JsonObject, schema: JsonObject | undefined): JsonObject | undefined {
  const [whole] = objectsOf(schema?.['allOf'])
  const reference = textOf((whole ?? schema)?.['$ref'])
  if (reference === undefined) return schema
  const target = all[reference.slice(reference.lastIndexOf('/') + 1)]
  return isObject(target) ? target : undefined
}

function propertiesOf(schema: JsonObject | undefined): JsonObject {
  const properties = schema?.['properties']
  return isObject(properties) ? properties : {}
}
