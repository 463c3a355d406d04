/** Resources under managed delivery (keel). */
import { z } from 'zod'
import { yamlType } from '../../http/parse-accept.ts'
import { AnyObject, described, integer, nothing, textModel } from '../../json/schemas.ts'
import { formatQuery, pathTo } from '../../net/encode-path.ts'
import { misfit, noPage } from '../../upstreams/answer-form.ts'
import { checkDone } from '../../upstreams/read-answer.ts'
import { operationsWith } from '../declare.ts'
import { decidedByService } from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import { checkServicePresent, ofOptionalService } from '../optional-service.ts'
import type { Platform } from '../platform.ts'
import { ManagedDiff, ManagedResource, streamExport, streamNamed } from './managed.ts'

const ManagedArtifact = described('ManagedArtifact', 'name', 'type', 'reference')
const ResourceEvent = described('ResourceEvent', 'type', 'timestamp', 'kind', 'id')

const { get, post, remove } = operationsWith({ demands: decidedByService })

export const managedResourceOperations: Operation[] = ofOptionalService('keel', '/managed', [
  get('getResourceUsingGET', '/managed/resources/{resourceId}', {
    summary: 'Get a managed resource',
    description: 'A managed resource; as YAML when the id ends in `.yml`.',
    handle: async ({ path }, platform) => streamNamed(platform, '/resources/', path['resourceId'] as string),
    answer: ManagedResource,
  }),
  get('getResourceStatusUsingGET', '/managed/resources/{resourceId}/status', {
    summary: 'Get the state of a resource',
    handle: resourceStatus,
    answer: z.object({ status: z.string() }),
  }),
  post('pauseResourceUsingPOST', '/managed/resources/{resourceId}/pause', {
    summary: 'Pause management of a resource',
    answer: nothing,
  }),
  remove('resumeResourceUsingDELETE', '/managed/resources/{resourceId}/pause', {
    summary: 'Resume management of a resource',
    answer: nothing,
  }),
  post('diffResourceUsingPOST', '/managed/resources/diff', {
    summary: 'Compare a managed resource',
    description: 'Checks a resource, and reports what would change.',
    body: { schema: AnyObject, required: true },
    answer: ManagedDiff,
  }),
  get('exportResourceUsingGET', '/managed/resources/export/{cloudProvider}/{account}/{type}/{name}', {
    summary: 'Export a running resource',
    description: 'A running resource, as the definition that would manage it.',
    query: { serviceAccount: textModel },
    handle: async ({ path, query, headers }, platform) => {
      const { cloudProvider = '', account = '', type = '', name = '' } = path
      const exported = pathTo`/export/${cloudProvider}/${account}/${type}/${name}` + formatQuery(query)
      return streamExport(platform, exported, headers.accept)
    },
    answer: ManagedResource,
    answerType: yamlType,
  }),
  get('exportArtifactUsingGET', '/managed/resources/export/artifact/{cloudProvider}/{account}/{clusterName}', {
    summary: 'Export the artifact of a cluster',
    description: 'The artifact that a cluster runs, as a definition.',
    handle: async ({ path, headers }, platform) => {
      const { cloudProvider = '', account = '', clusterName = '' } = path
      return streamExport(platform, pathTo`/export/artifact/${cloudProvider}/${account}/${clusterName}`, headers.accept)
    },
    answer: ManagedArtifact,
    answerType: yamlType,
  }),
  get('getResourceHistoryUsingGET', '/history/{name}', {
    summary: 'List events of a resource',
    description: 'Events of a managed resource, newest first.',
    query: { limit: integer.optional() },
    forward: { service: 'keel', path: '/resources/events/{name}' },
    whenDisabled: [],
    answer: z.array(ResourceEvent),
  }),
])

/** Keel answers with the bare word. */
async function resourceStatus(request: OperationRequest, platform: Platform): Promise<{ status: string }> {
  checkServicePresent(platform, 'keel')
  const answer = await request.call('keel', { path: pathTo`/resources/${request.path['resourceId'] as string}/status` })
  checkDone(answer, 'keel')
  const status = answer.text.trim().replace(/^"(.*)"$/, '$1')
  if (status === '') throw misfit(noPage, 'keel', 'nothing')
  return { status }
}
