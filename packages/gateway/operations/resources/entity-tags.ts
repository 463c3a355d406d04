/** Tags on resources of the infrastructure, such as alerts on a server group. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { alike, flagModel, maybeText, submitted, textModel } from '@fairlead/base/json/schemas.ts'
import { encodeSegments } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import { checkMayWrite } from '../access/application-access.ts'
import { get, post, remove } from '../declare.ts'
import { application, demandsNothing, filteredBy } from '../demands.ts'
import { EntityTag, EntityTags } from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { checkPlain, submitTask } from './task-polling.ts'

export const entityTagOperations: Operation[] = [
  get('listEntityTagsUsingGET', '/tags', 'List entity tags', {
    demands: filteredBy('entity'),
    description:
      'Tags of all entities; every query parameter is a filter (application, entityType, entityId, tag:{name}, …).',
    forward: { service: 'clouddriver', otherQuery: true },
    answer: z.array(EntityTags),
  }),
  get('getEntityTagsUsingGET', '/tags/**', 'Get tags of an entity', {
    demands: filteredBy('entity'),
    description:
      'Tags of one entity. The id is the rest of the path: provider:type:id:account:region.',
    handle: async ({ path }) =>
      new StreamedAnswer('clouddriver', { path: tagsPath(path['rest'] as string) }),
    answer: EntityTags,
  }),
  post('upsertEntityTagsUsingPOST', '/tags', 'Tag an entity', {
    demands: application('WRITE', 'query'),
    query: {
      ...alike(textModel, 'entityId', 'entityType', 'cloudProvider'),
      ...alike(maybeText, 'application', 'account', 'region'),
      isPartial: flagModel.default(true).describe('Keeps other tags of the entity.'),
    },
    body: z.array(EntityTag),
    handle: addTags,
    ...submitted,
  }),
  remove('deleteEntityTagsUsingDELETE', '/tags/{id}/{tag}', 'Remove tags from an entity', {
    demands: demandsNothing(
      'what the entity belongs to is known when it has been read; then it needs WRITE there, and the service decides besides',
    ),
    description: 'Submits the removal of tags, comma-separated, from one entity.',
    handle: removeTags,
    ...submitted,
  }),
  post('bulkUpsertEntityTagsUsingPOST', '/batch/tags', 'Tag several entities', {
    demands: application('WRITE', 'query'),
    query: { application: textModel.default('adhoc') },
    body: z.array(EntityTags),
    handle: addManyTags,
    ...submitted,
  }),
]

/** The infrastructure service keeps ids in lower case; slashes and colons belong to them. */
function tagsPath(id: string): string {
  return `/tags/${encodeSegments(id.toLowerCase())}`
}

async function addTags(request: OperationRequest, platform: Platform): Promise<unknown> {
  const { isPartial, ...given } = request.query
  const entityRef = { ...given }
  checkPlain(entityRef)
  await checkMayWrite(request, platform, [entityRef])
  const application = (given['application'] as string | undefined) ?? 'spinnaker'
  const description = `Update entity tags on ${given['entityId'] as string}`
  const job = [{ type: 'upsertEntityTags', application, isPartial, entityRef, tags: request.body }]
  return submitTask(request, { application, description, job })
}

/**
 * An entity without tags is a 404 of the infrastructure service, and no task. Tags of no entity belong to no application that could be
 * checked.
 *
 * @throws {GatewayError} NOT_FOUND
 */
async function removeTags(request: OperationRequest, platform: Platform): Promise<unknown> {
  const { id, tag } = request.path as { id: string; tag: string }
  checkPlain({ id, tag })
  const stored = (await request.json('clouddriver', { path: tagsPath(id) })) as
    | { id?: string; entityRef?: { application?: unknown; account?: unknown } }
    | undefined
  if (stored?.entityRef === undefined)
    throw new GatewayError('NOT_FOUND', `There is no entity with tags "${id}".`)
  await checkMayWrite(request, platform, [stored.entityRef])
  const named = stored.entityRef.application
  const application = typeof named === 'string' ? named : 'spinnaker'
  const tags = tag.split(',').filter((name) => name !== '')
  const job = [{ type: 'deleteEntityTags', id: stored.id ?? id.toLowerCase(), tags, application }]
  return submitTask(request, {
    application,
    description: `Delete entity tags ${tags.join(', ')} of ${id}`,
    job,
  })
}

async function addManyTags(request: OperationRequest, platform: Platform): Promise<unknown> {
  const entities = request.body as z.infer<typeof EntityTags>[]
  for (const fields of [request.query, ...entities.flatMap((entity) => [entity, entity.entityRef])])
    checkPlain(fields)
  await checkMayWrite(
    request,
    platform,
    entities.map(({ entityRef }) => entityRef),
  )
  const application = request.query['application'] as string
  const job = [{ type: 'bulkUpsertEntityTags', application, entityTags: request.body }]
  return submitTask(request, { application, description: 'Bulk update of entity tags', job })
}
