/** Pipeline templates of the second schema, versioned by tag and by digest. */
import { createHash } from 'node:crypto'
import { formatJson } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { undecorated } from '@fairlead/model/pipeline-templates/references.ts'
import type { WantedTemplate } from '@fairlead/ports/definitions.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { pathValue, queryValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { maskDefinition } from '../pipelines/trigger-secrets.ts'
import {
  checkTemplateReader,
  checkTemplateTriggers,
  checkTemplateWriter,
  type Writer,
  writerOf,
} from './authorization.ts'
import type { Definitions } from './collections.ts'
import { checkStrictly } from './pipeline-rules.ts'
import { checkSameId, missingDefinition, refusal } from './requests.ts'
import { compareValues } from './search.ts'
import {
  checkTemplateBounds,
  checkTemplateId,
  checkTemplateName,
  checkUnused,
  inScopes,
  pipelinesUsing,
  TemplateFields,
  withSecretsOf,
} from './templates.ts'

const tags = ['latest', 'stable', 'unstable', 'experimental', 'test', 'canary']

export function versionedTemplateRoutes(app: FastifyInstance, definitions: Definitions): void {
  versionedTemplateReads(app, definitions)
  versionedTemplateWrites(app, definitions)
}

function versionedTemplateReads(app: FastifyInstance, definitions: Definitions): void {
  const { templates } = definitions

  app.get('/v2/pipelineTemplates', (request) => inScopes(request, templates.all()))

  app.get('/v2/pipelineTemplates/versions', (request) => {
    const versions = inScopes(request, templates.all())
      .filter((template) => template['schema'] === 'v2')
      .map(maskDefinition)
    // A Map groups ids of any spelling; fromEntries defines properties, so that no id can reach a prototype.
    return Object.fromEntries(Map.groupBy(versions, (template) => String(template['id'])))
  })

  app.get('/v2/pipelineTemplates/:id', async (request) => {
    const wanted = wantedVersion(request)
    const found = templateVersion(definitions, await writerOf(definitions, request), wanted)
    if (found === undefined) throw missingDefinition(`pipeline template "${versionOf(wanted)}"`)
    return found
  })

  app.get('/v2/pipelineTemplates/:id/dependentPipelines', (request) => {
    const id = pathValue(request, 'id')
    // Without tag or digest, pipelines that use any version depend on the template.
    return pipelinesUsing(definitions, [id], undecorated(id) === id ? undecorated : undefined)
  })
}

/** The stored document without its tag and digest. @throws {PortError} 403 */
export function templateVersion(
  { templates }: Definitions,
  writer: Writer,
  wanted: WantedTemplate,
): JsonObject | undefined {
  const found = templates.get(foldName(versionOf(wanted)))
  if (found === undefined) return undefined
  checkTemplateReader(writer, found)
  const { tag: _tag, digest: _digest, ...template } = found
  return template
}

function versionedTemplateWrites(app: FastifyInstance, definitions: Definitions): void {
  app.post('/v2/pipelineTemplates', async (request) => {
    const { tag } = wantedVersion(request)
    await createVersion(definitions, await writerOf(definitions, request), {
      given: request.body,
      tag,
    })
  })
  app.put('/v2/pipelineTemplates/:id', async (request) => {
    const { id, tag } = wantedVersion(request)
    return replaceVersion(definitions, await writerOf(definitions, request), id, {
      given: request.body,
      tag,
    })
  })
  app.delete('/v2/pipelineTemplates/:id', async (request) =>
    removeVersion(definitions, await writerOf(definitions, request), wantedVersion(request)),
  )
}

interface GivenTemplate {
  readonly given: unknown
  readonly tag: string | undefined
}

export async function createVersion(
  definitions: Definitions,
  writer: Writer,
  template: GivenTemplate,
): Promise<void> {
  const id = undecorated(checkTemplateId(checkBody(TemplateFields, template.given)))
  await save(definitions, writer, { id, ...template }, (tag) => {
    if (!definitions.templates.has(foldName(versionId(id, tag)))) return
    throw refusal(`The pipeline template "${versionId(id, tag)}" exists already.`)
  })
}

export async function replaceVersion(
  definitions: Definitions,
  writer: Writer,
  ofPath: string,
  template: GivenTemplate,
): Promise<JsonObject> {
  const sent = checkBody(TemplateFields, template.given)
  const id = undecorated(ofPath)
  checkTemplateName(sent)
  if (sent.id != null) checkSameId(undecorated(sent.id), id)
  return save(definitions, writer, { id, ...template }, (_tag, versions) => {
    if (versions.length === 0) throw missingDefinition(`pipeline template "${id}"`)
  })
}

export function removeVersion(
  definitions: Definitions,
  writer: Writer,
  wanted: WantedTemplate,
): void {
  const { templates, write } = definitions
  const id = versionOf(wanted)
  write(() => {
    checkTemplateWriter(writer, [templates.get(foldName(id))])
    checkUnused(definitions, [id])
    if (!templates.remove(foldName(id))) throw missingDefinition(`pipeline template "${id}"`)
  })
}

/** @param checkVersions Refuses what the stored versions do not allow. */
async function save(
  definitions: Definitions,
  writer: Writer,
  { id, given, tag: asked }: GivenTemplate & { readonly id: string },
  checkVersions: (tag: string | undefined, versions: readonly JsonObject[]) => void,
): Promise<JsonObject> {
  // A version of another tag comes from one that was read.
  const body = withSecretsOf(definitions, checkBody(TemplateFields, given), versionIds(id))
  checkTemplateBounds(definitions, body)
  await checkStrictly(definitions, 'template', body)
  const tag = checkTag((asked ?? body.tag) || undefined)
  return definitions.write(() => {
    const versions = versionsOf(definitions, id)
    checkVersions(tag, versions)
    checkTemplateWriter(writer, [body, ...versions])
    checkTemplateTriggers(writer, body)
    return saveVersion(definitions, { ...body, id }, tag, writer.user)
  })
}

/** What is stored under the id without tag, and under each tag. */
function versionsOf({ templates }: Definitions, id: string): JsonObject[] {
  const found = versionIds(id).map((each) => templates.get(foldName(each)))
  return found.filter((version) => version !== undefined)
}

function versionIds(id: string): string[] {
  return [undefined, ...tags].map((tag) => versionId(id, tag))
}

/** Writes the version that was asked for, the `latest` tag, and a copy under the digest unless that content is known. */
function saveVersion(
  { templates }: Definitions,
  template: JsonObject,
  tag: string | undefined,
  user: string,
): JsonObject {
  const {
    tag: _tag,
    digest: _digest,
    updateTs: _updated,
    lastModifiedBy: _by,
    ...content
  } = template
  const id = String(content['id'])
  const digest = createHash('sha256')
    .update(formatJson(sorted(content)))
    .digest('hex')
  const asked = templates.put(
    foldName(versionId(id, tag)),
    tag === undefined ? content : { ...content, tag },
    user,
  )
  if (tag !== 'latest')
    templates.put(foldName(versionId(id, 'latest')), { ...content, tag: 'latest' }, user)
  const digestKey = foldName(`${id}@sha256:${digest}`)
  if (!templates.has(digestKey)) templates.put(digestKey, { ...content, digest }, user)
  return asked
}

/** The same content in the same order of keys, so that equal templates have equal digests. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const entries = Object.entries(value).sort(([a], [b]) => compareValues(a, b))
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]))
}

function checkTag(tag: string | undefined): string | undefined {
  if (tag === undefined || tags.includes(tag)) return tag
  throw refusal(describeChoice(tag, 'a tag of templates', tags))
}

function wantedVersion(request: FastifyRequest): WantedTemplate {
  const [tag, digest] = ['tag', 'digest'].map((name) => queryValue(request, name) || undefined)
  return { id: pathValue(request, 'id'), tag, digest }
}

/** The id of the version that is asked for with `tag` or `digest`. */
function versionOf({ id, tag, digest }: WantedTemplate): string {
  if (tag !== undefined && digest !== undefined)
    throw refusal('Ask for a template by "tag" or by "digest", not by both.')
  return digest === undefined ? versionId(id, checkTag(tag)) : `${id}@sha256:${digest}`
}

function versionId(id: string, tag: string | undefined): string {
  return tag === undefined ? id : `${id}:${tag}`
}
