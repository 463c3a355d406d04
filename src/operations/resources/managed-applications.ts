/** Applications under managed delivery (keel), and their environments. */
import { z } from 'zod'
import { AnyObject, described, flagModel, integer, list, nothing, textModel } from '../../json/schemas.ts'
import { operationsWith } from '../declare.ts'
import { readsApplication, writesApplication } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { ofOptionalService } from '../optional-service.ts'
import { DeliveryConfig } from './managed.ts'

const applicationPath = '/managed/application/{application}'
const environmentPath = `${applicationPath}/environment/{environment}`
const verificationsPath = '/application/{application}/environment/{environment}/verifications'

const ManagedApplication = z
  .looseObject({ hasManagedResources: z.boolean().optional(), resources: z.array(AnyObject).optional() })
  .meta({ id: 'ManagedApplication' })
const ManagedEnvironment = described('ManagedEnvironment', 'name')
const ConstraintState = described('ConstraintState', 'deliveryConfigName', 'environmentName', 'artifactVersion', 'type', 'status')

const read = operationsWith({ demands: readsApplication })
const { post, remove } = operationsWith({ demands: writesApplication, answer: nothing })
const change = operationsWith({ demands: writesApplication, body: { schema: AnyObject, required: true }, answer: nothing })

export const managedApplicationOperations: Operation[] = ofOptionalService('keel', '/managed', [
  read.get('getApplicationDetailsUsingGET', applicationPath, {
    summary: 'Get the management of an application',
    description: 'Whether and how an application is managed.',
    query: {
      includeDetails: flagModel.default(false),
      entities: list.default(['resources']),
      maxArtifactVersions: integer.optional(),
    },
    whenDisabled: { hasManagedResources: false, resources: [] },
    answer: ManagedApplication,
  }),
  read.get('getConfigByUsingGET', `${applicationPath}/config`, {
    summary: 'Get the delivery configuration',
    answer: DeliveryConfig,
  }),
  remove('deleteManifestByAppUsingDELETE', `${applicationPath}/config`, {
    summary: 'Delete the delivery configuration',
    answer: DeliveryConfig.optional(),
  }),
  post('pauseApplicationUsingPOST', `${applicationPath}/pause`, {
    summary: 'Pause management of an application',
  }),
  remove('resumeApplicationUsingDELETE', `${applicationPath}/pause`, {
    summary: 'Resume management of an application',
  }),
  change.post('createPinUsingPOST', `${applicationPath}/pin`, {
    summary: 'Pin an artifact version',
    description: 'Keeps an environment on one version of an artifact.',
  }),
  remove('deletePinUsingDELETE', `${applicationPath}/pin/{targetEnvironment}`, {
    summary: 'Release a pinned version',
    description: 'Releases an environment from the pinned version of one artifact, or of all.',
    query: { reference: textModel.optional() },
  }),
  change.post('vetoUsingPOST', `${applicationPath}/veto`, {
    summary: 'Veto an artifact version',
    description: 'Keeps a version of an artifact out of an environment.',
  }),
  remove('deleteVetoUsingDELETE', `${applicationPath}/veto/{targetEnvironment}/{reference}/{version}`, {
    summary: 'Withdraw a veto',
    description: 'Lets a version of an artifact into an environment again.',
  }),
  change.post('markBadUsingPOST', `${applicationPath}/mark/bad`, {
    summary: 'Mark a version as bad',
    description: 'Marks a version of an artifact as bad, and rolls back to the one before.',
  }),
  change.post('markGoodUsingPOST', `${applicationPath}/mark/good`, {
    summary: 'Mark a version as good',
    description: 'Takes the mark of a bad version back.',
  }),
  read.get('getEnvironmentsUsingGET', '/managed/environments/{application}', {
    summary: 'List environments of an application',
    whenDisabled: [],
    answer: z.array(ManagedEnvironment),
  }),
  read.get('getConstraintStateUsingGET', `${environmentPath}/constraints`, {
    summary: 'List constraints of an environment',
    description: 'Constraints that hold versions back from an environment, newest first.',
    query: { limit: integer.default(10) },
    whenDisabled: [],
    answer: z.array(ConstraintState),
  }),
  change.post('updateConstraintStatusUsingPOST', `${environmentPath}/constraint`, {
    summary: 'Decide a constraint',
    description: 'Decides a constraint by hand.',
  }),
  change.post('overrideVerificationUsingPOST', '/managed/{application}/environment/{environment}/verifications', {
    summary: 'Override a verification',
    description: 'Replaces the outcome of a verification.',
    forward: { service: 'keel', path: verificationsPath },
  }),
  change.post('retryVerificationUsingPOST', '/managed/{application}/environment/{environment}/verifications/retry', {
    summary: 'Retry a verification',
    forward: { service: 'keel', path: `${verificationsPath}/retry` },
  }),
])
