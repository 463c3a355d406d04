/** Pipeline templates of the first schema, and what both schemas share: scopes and dependents. */

import { fieldAt, type JsonObject, objectOf, textsOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PipelineTemplate } from '@fairlead/model/environments/pipeline-models.ts'
import { pipelineOf } from '@fairlead/model/pipeline-templates/inheritance.ts'
import { parentOf, templateOf } from '@fairlead/model/pipeline-templates/references.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { pathValue, queryFlag, queryValues } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { unmaskDefinition } from '../pipelines/trigger-secrets.ts'
import {
  checkTemplateReader,
  checkTemplateTriggers,
  checkTemplateWriter,
  type Writer,
  writerOf,
} from './authorization.ts'
import type { Definitions } from './collections.ts'
import { instancesOf } from './marks.ts'
import { checkBounds, checkLists } from './pipeline-rules.ts'
import {
  checkSameId,
  incomplete,
  keyIn,
  missingDefinition,
  optionalName,
  optionalTextField,
  refusal,
  sendStored,
} from './requests.ts'

export const TemplateFields = PipelineTemplate.extend({
  id: optionalName,
  tag: optionalName,
  source: optionalTextField,
})

export function templateRoutes(app: FastifyInstance, definitions: Definitions): void {
  const { templates } = definitions

  app.get('/pipelineTemplates', (request) => inScopes(request, templates.all()))

  app.get('/pipelineTemplates/:id', async (request, reply) => {
    checkTemplateReader(await writerOf(definitions, request), templates.get(keyIn(request)) ?? {})
    return sendStored(reply, 'id', templates, 'pipeline template')
  })

  app.get('/pipelineTemplates/:id/dependentPipelines', (request) => {
    const id = pathValue(request, 'id')
    return pipelinesUsing(definitions, [
      id,
      ...(queryFlag(request, 'recursive') ? descendantsOf(definitions, id) : []),
    ])
  })

  app.post('/pipelineTemplates', async (request) =>
    createTemplate(definitions, await writerOf(definitions, request), request.body),
  )
  app.put('/pipelineTemplates/:id', async (request) =>
    replaceTemplate(
      definitions,
      await writerOf(definitions, request),
      pathValue(request, 'id'),
      request.body,
    ),
  )
  app.delete('/pipelineTemplates/:id', async (request) =>
    removeTemplate(definitions, await writerOf(definitions, request), pathValue(request, 'id')),
  )
}

export function createTemplate(definitions: Definitions, writer: Writer, given: unknown): void {
  const { templates, write } = definitions
  const body = withSecretsOf(definitions, checkBody(TemplateFields, given), [])
  const id = checkTemplateId(body)
  checkTemplateWriter(writer, [body])
  checkTemplateTriggers(writer, body)
  checkTemplateBounds(definitions, body)
  write(() => {
    if (templates.has(foldName(id)))
      throw refusal(`A pipeline template with the id "${id}" exists already.`)
    templates.put(foldName(id), body, writer.user)
  })
}

export function replaceTemplate(
  definitions: Definitions,
  writer: Writer,
  id: string,
  given: unknown,
): JsonObject {
  const { templates, write } = definitions
  const sent = checkBody(TemplateFields, given)
  checkTemplateBounds(definitions, sent)
  checkTemplateName(sent)
  checkSameId(sent.id ?? '', id)
  return write(() => {
    const stored = templates.get(foldName(id))
    if (stored === undefined) throw missingDefinition(`pipeline template "${id}"`)
    const body = withSecretsOf(definitions, sent, [id])
    checkTemplateWriter(writer, [body, stored])
    checkTemplateTriggers(writer, body)
    return templates.put(foldName(id), body, writer.user)
  })
}

export function removeTemplate(definitions: Definitions, writer: Writer, id: string): void {
  const { templates, write } = definitions
  write(() => {
    checkTemplateWriter(writer, [templates.get(foldName(id))])
    const heirs = descendantsOf(definitions, id)
    checkUnused(definitions, [id, ...heirs])
    if (heirs.length > 0) throw refusal(`The template "${id}" is extended by: ${heirs.join(', ')}.`)
    if (!templates.remove(foldName(id))) throw missingDefinition(`pipeline template "${id}"`)
  })
}

/** @throws {PortError} 422 when the template has no id. */
export function checkTemplateId(template: z.infer<typeof TemplateFields>): string {
  if (!template.id?.trim()) throw incomplete('A pipeline template needs an id.')
  checkTemplateName(template)
  return template.id
}

/** @throws {PortError} 400 when the name is there and blank */
export function checkTemplateName({ metadata }: z.infer<typeof TemplateFields>): void {
  if (metadata?.name != null && String(metadata.name).trim() === '')
    throw refusal('The name in "metadata" of a pipeline template must not be blank.')
}

/**
 * The template with stored secrets in place of masks, which readers get.
 *
 * @param ids Under which versions of it are stored
 * @throws {PortError} 400 when nothing is stored for a mask
 */
export function withSecretsOf<T extends JsonObject>(
  { templates }: Definitions,
  template: T,
  ids: readonly string[],
): T {
  return unmaskDefinition(template, () =>
    ids.values().flatMap((id) => templates.versions(foldName(id))),
  )
}

/** @throws {PortError} 400 when no instance could run for its size, in either schema */
export function checkTemplateBounds(definitions: Definitions, template: JsonObject): void {
  checkBounds(definitions, template)
  checkBounds(definitions, pipelineOf(template))
  checkLists(definitions, 'template', objectOf(template['configuration']))
}

/** Templates that belong to any of the scopes asked for, ignoring case; all of them when none is asked for. */
export function inScopes(request: FastifyRequest, templates: JsonObject[]): JsonObject[] {
  const wanted = new Set(
    queryValues(request, 'scopes')
      .flatMap((list) => list.toLowerCase().split(','))
      .filter((scope) => scope !== ''),
  )
  if (wanted.size === 0) return templates
  return templates.filter((template) => {
    const scopes = textsOf(fieldAt(template, 'metadata', 'scopes'))
    return scopes.some((scope) => wanted.has(scope.toLowerCase()))
  })
}

/** Pipelines that are instances of any of these templates, as written in their reference, ignoring case. */
export function pipelinesUsing(
  { pipelines }: Definitions,
  ids: readonly string[],
  toId = (used: string) => used,
): JsonObject[] {
  return [...new Set(ids.map(foldName))].flatMap((id) =>
    instancesOf(pipelines, id).filter(
      (pipeline) => foldName(toId(templateOf(pipeline) ?? '')) === id,
    ),
  )
}

/** @throws {PortError} 400 when a pipeline is an instance of one of the templates. */
export function checkUnused(definitions: Definitions, ids: readonly string[]): void {
  const users = pipelinesUsing(definitions, ids)
  if (users.length === 0) return
  throw refusal(
    `Pipelines depend on this template: ${users.map((pipeline) => pipeline['id']).join(', ')}.`,
  )
}

/** Ids of the templates that extend a template, directly or through others. */
function descendantsOf({ templates }: Definitions, id: string): string[] {
  const heirs = new Map<string, string>()
  const parents = [foldName(id)]
  const all = templates.all()
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
    for (const template of all) {
      const key = foldName(String(template['id']))
      if (heirs.has(key) || foldName(parentOf(template) ?? '') !== parent) continue
      heirs.set(key, String(template['id']))
      parents.push(key)
    }
  }
  heirs.delete(foldName(id))
  return [...heirs.values()]
}
