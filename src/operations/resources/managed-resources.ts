/** Resources under managed delivery (keel). */

import { z } from 'zod'
import { formatQuery, pathTo } from '../../http/encode-path.ts'
import { yamlType } from '../../http/parse-accept.ts'
import { misfit, noPage } from '../../upstreams/answer-form.ts'
import { checkDone } from '../../upstreams/upstreams.ts'
import { decidedByService } from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import { checkServicePresent, ofOptionalService } from '../optional-service.ts'
import type { Platform } from '../platform.ts'
import { AnyObject, described, integer, nothing, text } from '../schemas.ts'
import { ManagedDiff, ManagedResource, streamExport, streamNamed } from './managed.ts'

const ManagedArtifact = described('ManagedArtifact', 'name', 'type', 'reference')
const ResourceEvent = described('ResourceEvent', 'type', 'timestamp', 'kind', 'id')

export const managedResourceOperations: Operation[] = ofOptionalService('keel', '/managed', [
  {
    id: 'getResourceUsingGET',
    method: 'GET',
    path: '/managed/resources/{resourceId}',
    demands: decidedByService,
    summary: 'Get a managed resource',
    description: 'A managed resource; as YAML when the id ends in `.yml`.',
    handle: async ({ path }, platform) => streamNamed(platform, '/resources/', path['resourceId'] as string),
    answer: ManagedResource,
  },
  {
    id: 'getResourceStatusUsingGET',
    method: 'GET',
    path: '/managed/resources/{resourceId}/status',
    demands: decidedByService,
    summary: 'Get the state of a resource',
    description: 'State of a managed resource.',
    handle: resourceStatus,
    answer: z.object({ status: z.string() }),
  },
  {
    id: 'pauseResourceUsingPOST',
    method: 'POST',
    path: '/managed/resources/{resourceId}/pause',
    demands: decidedByService,
    summary: 'Pause management of a resource',
    description: 'Stops managing a resource.',
    answer: nothing,
  },
  {
    id: 'resumeResourceUsingDELETE',
    method: 'DELETE',
    path: '/managed/resources/{resourceId}/pause',
    demands: decidedByService,
    summary: 'Resume management of a resource',
    description: 'Resumes the management of a resource.',
    answer: nothing,
  },
  {
    id: 'diffResourceUsingPOST',
    method: 'POST',
    path: '/managed/resources/diff',
    demands: decidedByService,
    summary: 'Compare a managed resource',
    description: 'Checks a resource, and reports what would change.',
    body: { schema: AnyObject, required: true },
    answer: ManagedDiff,
  },
  {
    id: 'exportResourceUsingGET',
    method: 'GET',
    path: '/managed/resources/export/{cloudProvider}/{account}/{type}/{name}',
    demands: decidedByService,
    summary: 'Export a running resource',
    description: 'A running resource, as the definition that would manage it.',
    query: { serviceAccount: text },
    handle: async ({ path, query, headers }, platform) => {
      const { cloudProvider = '', account = '', type = '', name = '' } = path
      const exported = pathTo`/export/${cloudProvider}/${account}/${type}/${name}` + formatQuery(query)
      return streamExport(platform, exported, headers.accept)
    },
    answer: ManagedResource,
    answerType: yamlType,
  },
  {
    id: 'exportArtifactUsingGET',
    method: 'GET',
    path: '/managed/resources/export/artifact/{cloudProvider}/{account}/{clusterName}',
    demands: decidedByService,
    summary: 'Export the artifact of a cluster',
    description: 'The artifact that a cluster runs, as a definition.',
    handle: async ({ path, headers }, platform) => {
      const { cloudProvider = '', account = '', clusterName = '' } = path
      return streamExport(platform, pathTo`/export/artifact/${cloudProvider}/${account}/${clusterName}`, headers.accept)
    },
    answer: ManagedArtifact,
    answerType: yamlType,
  },
  {
    id: 'getResourceHistoryUsingGET',
    method: 'GET',
    path: '/history/{name}',
    demands: decidedByService,
    summary: 'List events of a resource',
    description: 'Events of a managed resource, newest first.',
    query: { limit: integer.optional() },
    forward: { service: 'keel', path: '/resources/events/{name}' },
    whenDisabled: [],
    answer: z.array(ResourceEvent),
  },
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
