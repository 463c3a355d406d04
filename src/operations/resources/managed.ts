/** Managed delivery (keel), by application and by resource. While it is switched off nothing is managed. */

import { z } from 'zod'
import { pathTo } from '../../http/encode-path.ts'
import { misfit, noPage } from '../../upstreams/answer-form.ts'
import { checkDone } from '../../upstreams/upstreams.ts'
import { decidedByService, provedBySender, readsApplication, writesApplication } from '../demands.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { checkServicePresent } from '../optional-service.ts'
import type { Platform } from '../platform.ts'
import { AnyObject, flag, integer, list, nothing, ObjectList, text } from '../schemas.ts'
import { relayCallback } from './notifications.ts'

const applicationPath = '/managed/application/{application}'
const environmentPath = `${applicationPath}/environment/{environment}`
const verificationsPath = '/application/{application}/environment/{environment}/verifications'
const exportPath = '/export/{cloudProvider}/{account}/{type}/{name}'

const ManagedApplication = z
  .looseObject({ hasManagedResources: z.boolean().optional(), resources: z.array(AnyObject).optional() })
  .meta({ id: 'ManagedApplication' })
const GraphqlRequest = z
  .looseObject({ query: z.string().optional(), operationName: z.string().nullish(), variables: AnyObject.nullish() })
  .meta({ id: 'GraphqlRequest' })
const GraphqlAnswer = z
  .looseObject({ data: z.unknown().optional(), errors: z.array(AnyObject).optional() })
  .meta({ id: 'GraphqlAnswer' })

/** What every operation here has in common. */
const managed = { section: 'beyond', missingWhenDisabled: true } as const

const applications: Operation[] = [
  {
    id: 'getApplicationDetailsUsingGET',
    section: 'beyond',
    method: 'GET',
    path: applicationPath,
    demands: readsApplication,
    summary: 'Get the management of an application',
    description: 'Whether and how an application is managed.',
    query: {
      includeDetails: flag.default(false),
      entities: list.default(['resources']),
      maxArtifactVersions: integer.optional(),
    },
    forward: {
      service: 'keel',
      path: '/application/{application}',
      query: ['includeDetails', 'entities', 'maxArtifactVersions'],
    },
    whenDisabled: { hasManagedResources: false, resources: [] },
    answer: ManagedApplication,
  },
  {
    ...managed,
    id: 'getConfigByUsingGET',
    method: 'GET',
    path: `${applicationPath}/config`,
    demands: readsApplication,
    summary: 'Get the delivery configuration',
    forward: { service: 'keel', path: '/application/{application}/config' },
    answer: AnyObject,
  },
  {
    ...managed,
    id: 'deleteManifestByAppUsingDELETE',
    method: 'DELETE',
    path: `${applicationPath}/config`,
    demands: writesApplication,
    summary: 'Delete the delivery configuration',
    description: 'Deletes the delivery configuration of an application.',
    forward: { service: 'keel', path: '/application/{application}/config' },
    answer: AnyObject.optional(),
  },
  {
    ...managed,
    id: 'pauseApplicationUsingPOST',
    method: 'POST',
    path: `${applicationPath}/pause`,
    demands: writesApplication,
    summary: 'Pause management of an application',
    description: 'Stops managing an application.',
    forward: { service: 'keel', path: '/application/{application}/pause' },
    answer: nothing,
  },
  {
    ...managed,
    id: 'resumeApplicationUsingDELETE',
    method: 'DELETE',
    path: `${applicationPath}/pause`,
    demands: writesApplication,
    summary: 'Resume management of an application',
    description: 'Goes on managing an application.',
    forward: { service: 'keel', path: '/application/{application}/pause' },
    answer: nothing,
  },
  {
    ...managed,
    id: 'createPinUsingPOST',
    method: 'POST',
    path: `${applicationPath}/pin`,
    demands: writesApplication,
    summary: 'Pin an artifact version',
    description: 'Keeps an environment on one version of an artifact.',
    body: { schema: AnyObject, required: true },
    forward: { service: 'keel', path: '/application/{application}/pin' },
    answer: nothing,
  },
  {
    ...managed,
    id: 'deletePinUsingDELETE',
    method: 'DELETE',
    path: `${applicationPath}/pin/{targetEnvironment}`,
    demands: writesApplication,
    summary: 'Release a pinned version',
    description: 'Releases an environment from the pinned version of one artifact, or of all.',
    query: { reference: text.optional() },
    forward: { service: 'keel', path: '/application/{application}/pin/{targetEnvironment}', query: ['reference'] },
    answer: nothing,
  },
  {
    ...managed,
    id: 'vetoUsingPOST',
    method: 'POST',
    path: `${applicationPath}/veto`,
    demands: writesApplication,
    summary: 'Veto an artifact version',
    description: 'Keeps a version of an artifact out of an environment.',
    body: { schema: AnyObject, required: true },
    forward: { service: 'keel', path: '/application/{application}/veto' },
    answer: nothing,
  },
  {
    ...managed,
    id: 'deleteVetoUsingDELETE',
    method: 'DELETE',
    path: `${applicationPath}/veto/{targetEnvironment}/{reference}/{version}`,
    demands: writesApplication,
    summary: 'Withdraw a veto',
    description: 'Lets a version of an artifact into an environment again.',
    forward: { service: 'keel', path: '/application/{application}/veto/{targetEnvironment}/{reference}/{version}' },
    answer: nothing,
  },
  {
    ...managed,
    id: 'markBadUsingPOST',
    method: 'POST',
    path: `${applicationPath}/mark/bad`,
    demands: writesApplication,
    summary: 'Mark a version as bad',
    description: 'Marks a version of an artifact as bad, and rolls back to the one before.',
    body: { schema: AnyObject, required: true },
    forward: { service: 'keel', path: '/application/{application}/mark/bad' },
    answer: nothing,
  },
  {
    ...managed,
    id: 'markGoodUsingPOST',
    method: 'POST',
    path: `${applicationPath}/mark/good`,
    demands: writesApplication,
    summary: 'Mark a version as good',
    description: 'Takes the mark of a bad version back.',
    body: { schema: AnyObject, required: true },
    forward: { service: 'keel', path: '/application/{application}/mark/good' },
    answer: nothing,
  },
]

const environments: Operation[] = [
  {
    id: 'getEnvironmentsUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/managed/environments/{application}',
    demands: readsApplication,
    summary: 'List environments of an application',
    forward: { service: 'keel', path: '/environments/{application}' },
    whenDisabled: [],
    answer: ObjectList,
  },
  {
    id: 'getConstraintStateUsingGET',
    section: 'beyond',
    method: 'GET',
    path: `${environmentPath}/constraints`,
    demands: readsApplication,
    summary: 'List constraints of an environment',
    description: 'Constraints that hold versions back from an environment, newest first.',
    query: { limit: integer.default(10) },
    forward: { service: 'keel', path: '/application/{application}/environment/{environment}/constraints', query: ['limit'] },
    whenDisabled: [],
    answer: ObjectList,
  },
  {
    ...managed,
    id: 'updateConstraintStatusUsingPOST',
    method: 'POST',
    path: `${environmentPath}/constraint`,
    demands: writesApplication,
    summary: 'Decide a constraint',
    description: 'Decides a constraint by hand.',
    body: { schema: AnyObject, required: true },
    forward: { service: 'keel', path: '/application/{application}/environment/{environment}/constraint' },
    answer: nothing,
  },
  {
    ...managed,
    id: 'overrideVerificationUsingPOST',
    method: 'POST',
    path: '/managed/{application}/environment/{environment}/verifications',
    demands: writesApplication,
    summary: 'Override a verification',
    description: 'Replaces the outcome of a verification.',
    body: { schema: AnyObject, required: true },
    forward: { service: 'keel', path: verificationsPath },
    answer: nothing,
  },
  {
    ...managed,
    id: 'retryVerificationUsingPOST',
    method: 'POST',
    path: '/managed/{application}/environment/{environment}/verifications/retry',
    demands: writesApplication,
    summary: 'Retry a verification',
    description: 'Runs a verification again.',
    body: { schema: AnyObject, required: true },
    forward: { service: 'keel', path: `${verificationsPath}/retry` },
    answer: nothing,
  },
]

const resources: Operation[] = [
  {
    id: 'getResourceUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/managed/resources/{resourceId}',
    demands: decidedByService,
    summary: 'Get a managed resource',
    description: 'A managed resource; as YAML when the id ends in `.yml`.',
    handle: async ({ path }, platform) => streamNamed(platform, '/resources/', path['resourceId'] as string),
    answer: AnyObject,
  },
  {
    id: 'getResourceStatusUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/managed/resources/{resourceId}/status',
    demands: decidedByService,
    summary: 'Get the state of a resource',
    description: 'State of a managed resource.',
    handle: resourceStatus,
    answer: z.object({ status: z.string() }),
  },
  {
    ...managed,
    id: 'pauseResourceUsingPOST',
    method: 'POST',
    path: '/managed/resources/{resourceId}/pause',
    demands: decidedByService,
    summary: 'Pause management of a resource',
    description: 'Stops managing a resource.',
    forward: { service: 'keel', path: '/resources/{resourceId}/pause' },
    answer: nothing,
  },
  {
    ...managed,
    id: 'resumeResourceUsingDELETE',
    method: 'DELETE',
    path: '/managed/resources/{resourceId}/pause',
    demands: decidedByService,
    summary: 'Resume management of a resource',
    description: 'Goes on managing a resource.',
    forward: { service: 'keel', path: '/resources/{resourceId}/pause' },
    answer: nothing,
  },
  {
    ...managed,
    id: 'diffResourceUsingPOST',
    method: 'POST',
    path: '/managed/resources/diff',
    demands: decidedByService,
    summary: 'Compare a managed resource',
    description: 'Checks a resource, and reports what would change.',
    body: { schema: AnyObject, required: true },
    forward: { service: 'keel', path: '/resources/diff' },
    answer: AnyObject,
  },
  {
    ...managed,
    id: 'exportResourceUsingGET',
    method: 'GET',
    path: '/managed/resources/export/{cloudProvider}/{account}/{type}/{name}',
    demands: decidedByService,
    summary: 'Export a running resource',
    description: 'A running resource, as the definition that would manage it.',
    query: { serviceAccount: text },
    forward: { service: 'keel', path: exportPath, query: ['serviceAccount'] },
    answer: AnyObject,
  },
  {
    ...managed,
    id: 'exportArtifactUsingGET',
    method: 'GET',
    path: '/managed/resources/export/artifact/{cloudProvider}/{account}/{clusterName}',
    demands: decidedByService,
    summary: 'Export the artifact of a cluster',
    description: 'The artifact that a cluster runs, as a definition.',
    forward: { service: 'keel', path: '/export/artifact/{cloudProvider}/{account}/{clusterName}' },
    answer: AnyObject,
  },
  {
    id: 'getResourceHistoryUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/history/{name}',
    demands: decidedByService,
    summary: 'List events of a resource',
    description: 'Events of a managed resource, newest first.',
    query: { limit: integer.optional() },
    forward: { service: 'keel', path: '/resources/events/{name}', query: ['limit'] },
    whenDisabled: [],
    answer: ObjectList,
  },
]

const others: Operation[] = [
  {
    ...managed,
    id: 'graphqlUsingPOST',
    method: 'POST',
    path: '/managed/graphql',
    demands: decidedByService,
    summary: 'Query managed delivery with GraphQL',
    description: 'A GraphQL query about managed delivery.',
    body: { schema: AnyObject, shown: GraphqlRequest, required: true },
    forward: { service: 'keel', path: '/graphql' },
    answer: GraphqlAnswer,
  },
  {
    id: 'onboardingReportUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/managed/reports/onboarding',
    demands: decidedByService,
    summary: 'Get the onboarding report',
    description: 'Report on the applications that came under management.',
    handle: async (_request, platform) => streamReport(platform, '/reports/onboarding'),
    answer: z.unknown(),
    answerType: 'text/html',
  },
  {
    id: 'adoptionReportUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/managed/reports/adoption',
    demands: decidedByService,
    summary: 'Get the adoption report',
    description: 'Report on how managed delivery is used.',
    handle: async (_request, platform) => streamReport(platform, '/reports/adoption'),
    answer: z.unknown(),
    answerType: 'text/html',
  },
  {
    id: 'processManagedNotificationCallbackUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/managed/notifications/callbacks/{source}',
    demands: provedBySender,
    summary: 'Receive a managed-delivery chat callback',
    description: 'Receives a click on a button of a chat message. Open: the service checks the signature.',
    body: { schema: z.unknown(), required: false, raw: true, mediaType: 'application/x-www-form-urlencoded' },
    handle: async (request, platform) => {
      checkServicePresent(platform, 'keel')
      return relayCallback(request, 'keel', '/slack/notifications/callbacks')
    },
    answer: z.unknown(),
  },
]

export const managedOperations: Operation[] = [...applications, ...environments, ...resources, ...others]

/** Streams what keel has under a name; the ending `.yml` asks for YAML. @throws {GatewayError} NOT_FOUND */
export function streamNamed(platform: Platform, folder: string, name: string): StreamedAnswer {
  checkServicePresent(platform, 'keel')
  const headers = { accept: name.endsWith('.yml') ? 'application/x-yaml' : 'application/json' }
  return new StreamedAnswer('keel', { path: folder + pathTo`${name}`, headers })
}

/** Keel answers with the bare word. */
async function resourceStatus(request: OperationRequest, platform: Platform): Promise<{ status: string }> {
  checkServicePresent(platform, 'keel')
  const answer = await request.call('keel', { path: pathTo`/resources/${request.path['resourceId'] as string}/status` })
  checkDone(answer, 'keel')
  const status = answer.text.trim().replace(/^"(.*)"$/, '$1')
  if (status === '') throw misfit(noPage, 'keel', 'nothing')
  return { status }
}

function streamReport(platform: Platform, path: string): StreamedAnswer {
  checkServicePresent(platform, 'keel')
  return new StreamedAnswer('keel', { path, headers: { accept: '*/*' } })
}
