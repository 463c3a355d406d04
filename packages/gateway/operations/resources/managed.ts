/** Managed delivery (keel) and clean-up (swabbie): applications, resources, delivery configurations, marked resources. */

import { parseJson } from '@fairlead/base/json/json.ts'
import {
  AnyObject,
  described,
  flagModel,
  integer,
  maybeText,
  model,
  nothing,
  nullableTexts,
  textList,
  textModel,
} from '@fairlead/base/json/schemas.ts'
import { formatYaml } from '@fairlead/base/json/yaml.ts'
import { formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import { parseAccept, yamlType, yamlTypeFor } from '../../http/parse-accept.ts'
import {
  checkDone,
  jsonObject,
  misfit,
  noPage,
  upstreamFailed,
} from '../../upstreams/answer-form.ts'
import { checkServicePresent, ofOptionalService, operationsWith, post } from '../declare.ts'
import {
  application,
  decidedByService,
  open,
  readsApplication,
  writesApplication,
  writesApplicationInBody,
} from '../demands.ts'
import {
  DirectAnswer,
  type Operation,
  type OperationRequest,
  StreamedAnswer,
} from '../operation.ts'
import type { Platform } from '../platform.ts'
import { relayCallback } from './notifications.ts'

const GraphqlRequest = model('GraphqlRequest', {
  query: z.string().optional(),
  operationName: z.string().nullish(),
  variables: AnyObject.nullish(),
})
const GraphqlAnswer = model('GraphqlAnswer', {
  data: z.unknown().optional(),
  errors: z.array(AnyObject).optional(),
})

const DeliveryConfig = model('DeliveryConfig', {
  ...nullableTexts('name', 'application', 'serviceAccount'),
  artifacts: z.array(AnyObject).nullish(),
  environments: z.array(AnyObject).nullish(),
})
const ManagedResource = model('ManagedResource', 'A resource under managed delivery.', {
  kind: z.string().nullish(),
  metadata: AnyObject.nullish(),
  spec: AnyObject.nullish(),
})
const ManagedDiff = described('ManagedDiff', 'status', 'resourceId')

const report = operationsWith({
  demands: decidedByService,
  answer: z.string(),
  answerType: 'text/plain',
})

export const managedOperations: Operation[] = ofOptionalService('keel', '/managed', [
  post('graphqlUsingPOST', '/managed/graphql', 'Query managed delivery with GraphQL', {
    demands: decidedByService,
    body: { schema: AnyObject, shown: GraphqlRequest, required: true },
    answer: GraphqlAnswer,
  }),
  report.get(
    'onboardingReportUsingGET',
    '/managed/reports/onboarding',
    'Get the onboarding report',
    {
      handle: async (_request, platform) => streamReport(platform, '/reports/onboarding'),
    },
  ),
  report.get('adoptionReportUsingGET', '/managed/reports/adoption', 'Get the adoption report', {
    handle: async (_request, platform) => streamReport(platform, '/reports/adoption'),
  }),
  post(
    'processManagedNotificationCallbackUsingPOST',
    '/managed/notifications/callbacks/{source}',
    'Receive a managed-delivery chat callback',
    {
      demands: open('signed by sender'),
      description:
        'Receives a click on a button of a chat message. Open: the service checks the signature.',
      body: {
        schema: z.unknown(),
        required: false,
        raw: true,
        mediaType: 'application/x-www-form-urlencoded',
      },
      handle: async (request, platform) => {
        checkServicePresent(platform, 'keel')
        return relayCallback(request, 'keel', '/slack/notifications/callbacks')
      },
      answer: z.unknown(),
    },
  ),
])

/** Streams what keel has under a name; the ending `.yml` asks for YAML. @throws {GatewayError} NOT_FOUND */
function streamNamed(platform: Platform, folder: string, name: string): StreamedAnswer {
  checkServicePresent(platform, 'keel')
  const headers = { accept: name.endsWith('.yml') ? yamlType : 'application/json' }
  return new StreamedAnswer('keel', { path: folder + pathTo`${name}`, headers })
}

/** What keel exports: YAML, as from Gate, unless the client accepts JSON alone. */
async function exportFromKeel(
  request: OperationRequest,
  platform: Platform,
  path: string,
): Promise<unknown> {
  checkServicePresent(platform, 'keel')
  const { accept = '*/*' } = request.headers
  const value = await request.json('keel', { path })
  if (accept === 'application/json' || parseAccept(accept, ['yaml']) === undefined) return value
  return new DirectAnswer(200, formatYaml(value), { 'content-type': yamlTypeFor(accept) })
}

function streamReport(platform: Platform, path: string): StreamedAnswer {
  checkServicePresent(platform, 'keel')
  return new StreamedAnswer('keel', { path, headers: { accept: '*/*' } })
}

const applicationPath = '/managed/application/{application}'
const environmentPath = `${applicationPath}/environment/{environment}`
const verificationsPath = '/application/{application}/environment/{environment}/verifications'

const ManagedApplication = model('ManagedApplication', {
  hasManagedResources: z.boolean().optional(),
  resources: z.array(AnyObject).optional(),
})
const ManagedEnvironment = described('ManagedEnvironment', 'name')
const ConstraintState = described(
  'ConstraintState',
  'deliveryConfigName',
  'environmentName',
  'artifactVersion',
  'type',
  'status',
)

const read = operationsWith({ demands: readsApplication })
const steer = operationsWith({ demands: writesApplication, answer: nothing })
const change = operationsWith({ demands: writesApplication, body: AnyObject, answer: nothing })

export const managedApplicationOperations: Operation[] = ofOptionalService('keel', '/managed', [
  read.get(
    'getApplicationDetailsUsingGET',
    applicationPath,
    'Get the management of an application',
    {
      query: {
        includeDetails: flagModel.default(false),
        entities: textList.default(['resources']),
        maxArtifactVersions: integer.optional(),
      },
      whenDisabled: { hasManagedResources: false, resources: [] },
      answer: ManagedApplication,
    },
  ),
  read.get('getConfigByUsingGET', `${applicationPath}/config`, 'Get the delivery configuration', {
    answer: DeliveryConfig,
  }),
  steer.remove(
    'deleteManifestByAppUsingDELETE',
    `${applicationPath}/config`,
    'Delete the delivery configuration',
    {
      answer: DeliveryConfig.optional(),
    },
  ),
  steer.post(
    'pauseApplicationUsingPOST',
    `${applicationPath}/pause`,
    'Pause management of an application',
    {},
  ),
  steer.remove(
    'resumeApplicationUsingDELETE',
    `${applicationPath}/pause`,
    'Resume management of an application',
    {},
  ),
  change.post('createPinUsingPOST', `${applicationPath}/pin`, 'Pin an artifact version', {
    description: 'Keeps an environment on one version of an artifact.',
  }),
  steer.remove(
    'deletePinUsingDELETE',
    `${applicationPath}/pin/{targetEnvironment}`,
    'Release a pinned version',
    {
      description: 'Releases an environment from the pinned version of one artifact, or of all.',
      query: { reference: maybeText },
    },
  ),
  change.post('vetoUsingPOST', `${applicationPath}/veto`, 'Veto an artifact version', {
    description: 'Keeps a version of an artifact out of an environment.',
  }),
  steer.remove(
    'deleteVetoUsingDELETE',
    `${applicationPath}/veto/{targetEnvironment}/{reference}/{version}`,
    'Withdraw a veto',
    {},
  ),
  change.post('markBadUsingPOST', `${applicationPath}/mark/bad`, 'Mark a version as bad', {
    description: 'Marks a version of an artifact as bad, and rolls back to the one before.',
  }),
  change.post('markGoodUsingPOST', `${applicationPath}/mark/good`, 'Mark a version as good', {}),
  read.get(
    'getEnvironmentsUsingGET',
    '/managed/environments/{application}',
    'List environments of an application',
    {
      whenDisabled: [],
      answer: z.array(ManagedEnvironment),
    },
  ),
  read.get(
    'getConstraintStateUsingGET',
    `${environmentPath}/constraints`,
    'List constraints of an environment',
    {
      description: 'Constraints that hold versions back from an environment, newest first.',
      query: { limit: integer.default(10) },
      whenDisabled: [],
      answer: z.array(ConstraintState),
    },
  ),
  change.post(
    'updateConstraintStatusUsingPOST',
    `${environmentPath}/constraint`,
    'Decide a constraint',
    {},
  ),
  change.post(
    'overrideVerificationUsingPOST',
    '/managed/{application}/environment/{environment}/verifications',
    'Override a verification',
    {
      description: 'Replaces the outcome of a verification.',
      forward: `keel ${verificationsPath}`,
    },
  ),
  change.post(
    'retryVerificationUsingPOST',
    '/managed/{application}/environment/{environment}/verifications/retry',
    'Retry a verification',
    {
      forward: `keel ${verificationsPath}/retry`,
    },
  ),
])

const ManagedArtifact = described('ManagedArtifact', 'name', 'type', 'reference')
const ResourceEvent = described('ResourceEvent', 'type', 'timestamp', 'kind', 'id')

const resource = operationsWith({ demands: decidedByService })

export const managedResourceOperations: Operation[] = ofOptionalService('keel', '/managed', [
  resource.get('getResourceUsingGET', '/managed/resources/{resourceId}', 'Get a managed resource', {
    description: 'A managed resource; as YAML when the id ends in `.yml`.',
    handle: async ({ path }, platform) =>
      streamNamed(platform, '/resources/', path['resourceId'] as string),
    answer: ManagedResource,
  }),
  resource.get(
    'getResourceStatusUsingGET',
    '/managed/resources/{resourceId}/status',
    'Get the state of a resource',
    {
      handle: resourceStatus,
      answer: z.object({ status: z.string() }),
    },
  ),
  resource.post(
    'pauseResourceUsingPOST',
    '/managed/resources/{resourceId}/pause',
    'Pause management of a resource',
    {
      answer: nothing,
    },
  ),
  resource.remove(
    'resumeResourceUsingDELETE',
    '/managed/resources/{resourceId}/pause',
    'Resume management of a resource',
    {
      answer: nothing,
    },
  ),
  resource.post('diffResourceUsingPOST', '/managed/resources/diff', 'Compare a managed resource', {
    description: 'Checks a resource, and reports what would change.',
    body: AnyObject,
    answer: ManagedDiff,
  }),
  resource.get(
    'exportResourceUsingGET',
    '/managed/resources/export/{cloudProvider}/{account}/{type}/{name}',
    'Export a running resource',
    {
      description: 'A running resource, as the definition that would manage it.',
      query: { serviceAccount: textModel },
      handle: (request, platform) => {
        const { cloudProvider = '', account = '', type = '', name = '' } = request.path
        const exported =
          pathTo`/export/${cloudProvider}/${account}/${type}/${name}` + formatQuery(request.query)
        return exportFromKeel(request, platform, exported)
      },
      answer: ManagedResource,
      answerType: yamlType,
    },
  ),
  resource.get(
    'exportArtifactUsingGET',
    '/managed/resources/export/artifact/{cloudProvider}/{account}/{clusterName}',
    'Export the artifact of a cluster',
    {
      description: 'The artifact that a cluster runs, as a definition.',
      handle: (request, platform) => {
        const { cloudProvider = '', account = '', clusterName = '' } = request.path
        const exported = pathTo`/export/artifact/${cloudProvider}/${account}/${clusterName}`
        return exportFromKeel(request, platform, exported)
      },
      answer: ManagedArtifact,
      answerType: yamlType,
    },
  ),
  resource.get('getResourceHistoryUsingGET', '/history/{name}', 'List events of a resource', {
    query: { limit: integer.optional() },
    forward: 'keel /resources/events/{name}',
    whenDisabled: [],
    answer: z.array(ResourceEvent),
  }),
])

/** Keel answers with the bare word. */
async function resourceStatus(
  request: OperationRequest,
  platform: Platform,
): Promise<{ status: string }> {
  checkServicePresent(platform, 'keel')
  const answer = await request.call('keel', {
    path: pathTo`/resources/${request.path['resourceId'] as string}/status`,
  })
  checkDone(answer, 'keel')
  const status = answer.text.trim().replace(/^"(.*)"$/, '$1')
  if (status === '') throw misfit(noPage, 'keel', 'nothing')
  return { status }
}

const configsPath = '/managed/delivery-configs'
const configBody = { schema: AnyObject, required: true }

const DeliveryArtifact = described('DeliveryArtifact', 'name', 'type', 'reference')

const decided = operationsWith({ demands: decidedByService })
const checking = operationsWith({
  changesNothing: true,
  demands: application('READ', 'body'),
  body: configBody,
})

export const deliveryConfigOperations: Operation[] = ofOptionalService('keel', '/managed', [
  decided.get(
    'getDeliveryConfigUsingGET',
    `${configsPath}/{name}`,
    'Get a delivery configuration',
    {
      description: 'A delivery configuration; as YAML when the name ends in `.yml`.',
      handle: async ({ path }, platform) =>
        streamNamed(platform, '/delivery-configs/', path['name'] as string),
      answer: DeliveryConfig,
    },
  ),
  decided.get(
    'getDeliveryConfigArtifactsUsingGET',
    `${configsPath}/{name}/artifacts`,
    'List artifacts of a delivery configuration',
    {
      description: 'Versions of the artifacts of a delivery configuration, and where they are.',
      answer: z.array(DeliveryArtifact),
    },
  ),
  post('upsertDeliveryConfigUsingPOST', configsPath, 'Save a delivery configuration', {
    demands: writesApplicationInBody,
    body: configBody,
    answer: DeliveryConfig,
  }),
  decided.remove(
    'deleteDeliveryConfigUsingDELETE',
    `${configsPath}/{name}`,
    'Delete a delivery configuration by name',
    {
      answer: DeliveryConfig.optional(),
    },
  ),
  checking.post(
    'validateDeliveryConfigUsingPOST',
    `${configsPath}/validate`,
    'Validate a delivery configuration',
    {
      description: 'Checks a delivery configuration without storing it.',
      handle: validate,
      answer: described('DeliveryConfigFindings', 'message'),
      errors: { 400: 'The configuration is not valid; the body names the place.' },
    },
  ),
  checking.post(
    'diffDeliveryConfigUsingPOST',
    `${configsPath}/diff`,
    'Compare a delivery configuration',
    {
      answer: z.array(ManagedDiff),
    },
  ),
  decided.get(
    'getDeliveryConfigSchemaUsingGET',
    `${configsPath}/schema`,
    'Get the delivery configuration schema',
    {
      answer: described('DeliveryConfigSchema', '$id', '$schema', 'type'),
    },
  ),
])

/** Errors that keel finds in a configuration are for its author, and forwarded unchanged. */
async function validate(request: OperationRequest, platform: Platform): Promise<unknown> {
  checkServicePresent(platform, 'keel')
  const answer = await request.call('keel', {
    method: 'POST',
    path: '/delivery-configs/validate',
    body: request.body,
  })
  if (answer.status !== 400) checkDone(answer, 'keel')
  const found = parseFindings(answer.text)
  if (found === undefined && answer.status !== 400)
    throw misfit(jsonObject, 'keel', 'something that is not JSON')
  if (found === undefined) throw upstreamFailed('keel', answer)
  return new DirectAnswer(answer.status, found)
}

function parseFindings(text: string): object | undefined {
  try {
    const parsed = text.trim() === '' ? {} : parseJson(text)
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}

const resourcePath = '/cleanup/resources/{namespace}/{resourceId}'

const MarkedResource = described(
  'MarkedResource',
  'resourceId',
  'resourceType',
  'namespace',
  'name',
)

const one = operationsWith({
  demands: decidedByService,
  missingWhenDisabled: true,
  answer: MarkedResource,
})
const all = operationsWith({
  demands: decidedByService,
  whenDisabled: [],
  answer: z.array(MarkedResource),
})

export const cleanupOperations: Operation[] = [
  one.get('getMarkedResourceUsingGET', resourcePath, 'Get a marked resource', {
    forward: 'swabbie /resources/marked/{namespace}/{resourceId}',
  }),
  one.get('optOutUsingGET', `${resourcePath}/optOut`, 'Spare a resource from deletion', {
    description:
      'Spares a resource from deletion. It is a GET that changes something, because mails contain it as a link.',
    forward: {
      service: 'swabbie',
      method: 'PUT',
      path: '/resources/state/{namespace}/{resourceId}/optOut',
    },
  }),
  all.get('getMarkedResourcesUsingGET', '/cleanup/resources/marked', 'List marked resources', {
    forward: { service: 'swabbie', path: '/resources/marked', constants: { list: 'true' } },
  }),
  all.get('getDeletedResourcesUsingGET', '/cleanup/resources/deleted', 'List deleted resources', {
    forward: 'swabbie /resources/deleted',
  }),
]
