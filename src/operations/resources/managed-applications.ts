/** Applications under managed delivery (keel), and their environments. */

import { z } from 'zod'
import { readsApplication, writesApplication } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { ofOptionalService } from '../optional-service.ts'
import { AnyObject, described, flag, integer, list, nothing, text } from '../schemas.ts'
import { DeliveryConfig } from './managed.ts'

const applicationPath = '/managed/application/{application}'
const environmentPath = `${applicationPath}/environment/{environment}`
const verificationsPath = '/application/{application}/environment/{environment}/verifications'

const ManagedApplication = z
  .looseObject({ hasManagedResources: z.boolean().optional(), resources: z.array(AnyObject).optional() })
  .meta({ id: 'ManagedApplication' })
const ManagedEnvironment = described('ManagedEnvironment', 'name')
const ConstraintState = described('ConstraintState', 'deliveryConfigName', 'environmentName', 'artifactVersion', 'type', 'status')

const applications: Operation[] = ofOptionalService('keel', '/managed', [
  {
    id: 'getApplicationDetailsUsingGET',
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
    whenDisabled: { hasManagedResources: false, resources: [] },
    answer: ManagedApplication,
  },
  {
    id: 'getConfigByUsingGET',
    method: 'GET',
    path: `${applicationPath}/config`,
    demands: readsApplication,
    summary: 'Get the delivery configuration',
    answer: DeliveryConfig,
  },
  {
    id: 'deleteManifestByAppUsingDELETE',
    method: 'DELETE',
    path: `${applicationPath}/config`,
    demands: writesApplication,
    summary: 'Delete the delivery configuration',
    description: 'Deletes the delivery configuration of an application.',
    answer: DeliveryConfig.optional(),
  },
  {
    id: 'pauseApplicationUsingPOST',
    method: 'POST',
    path: `${applicationPath}/pause`,
    demands: writesApplication,
    summary: 'Pause management of an application',
    description: 'Stops managing an application.',
    answer: nothing,
  },
  {
    id: 'resumeApplicationUsingDELETE',
    method: 'DELETE',
    path: `${applicationPath}/pause`,
    demands: writesApplication,
    summary: 'Resume management of an application',
    description: 'Resumes the management of an application.',
    answer: nothing,
  },
  {
    id: 'createPinUsingPOST',
    method: 'POST',
    path: `${applicationPath}/pin`,
    demands: writesApplication,
    summary: 'Pin an artifact version',
    description: 'Keeps an environment on one version of an artifact.',
    body: { schema: AnyObject, required: true },
    answer: nothing,
  },
  {
    id: 'deletePinUsingDELETE',
    method: 'DELETE',
    path: `${applicationPath}/pin/{targetEnvironment}`,
    demands: writesApplication,
    summary: 'Release a pinned version',
    description: 'Releases an environment from the pinned version of one artifact, or of all.',
    query: { reference: text.optional() },
    answer: nothing,
  },
  {
    id: 'vetoUsingPOST',
    method: 'POST',
    path: `${applicationPath}/veto`,
    demands: writesApplication,
    summary: 'Veto an artifact version',
    description: 'Keeps a version of an artifact out of an environment.',
    body: { schema: AnyObject, required: true },
    answer: nothing,
  },
  {
    id: 'deleteVetoUsingDELETE',
    method: 'DELETE',
    path: `${applicationPath}/veto/{targetEnvironment}/{reference}/{version}`,
    demands: writesApplication,
    summary: 'Withdraw a veto',
    description: 'Lets a version of an artifact into an environment again.',
    answer: nothing,
  },
  {
    id: 'markBadUsingPOST',
    method: 'POST',
    path: `${applicationPath}/mark/bad`,
    demands: writesApplication,
    summary: 'Mark a version as bad',
    description: 'Marks a version of an artifact as bad, and rolls back to the one before.',
    body: { schema: AnyObject, required: true },
    answer: nothing,
  },
  {
    id: 'markGoodUsingPOST',
    method: 'POST',
    path: `${applicationPath}/mark/good`,
    demands: writesApplication,
    summary: 'Mark a version as good',
    description: 'Takes the mark of a bad version back.',
    body: { schema: AnyObject, required: true },
    answer: nothing,
  },
])

const environments: Operation[] = ofOptionalService('keel', '/managed', [
  {
    id: 'getEnvironmentsUsingGET',
    method: 'GET',
    path: '/managed/environments/{application}',
    demands: readsApplication,
    summary: 'List environments of an application',
    whenDisabled: [],
    answer: z.array(ManagedEnvironment),
  },
  {
    id: 'getConstraintStateUsingGET',
    method: 'GET',
    path: `${environmentPath}/constraints`,
    demands: readsApplication,
    summary: 'List constraints of an environment',
    description: 'Constraints that hold versions back from an environment, newest first.',
    query: { limit: integer.default(10) },
    whenDisabled: [],
    answer: z.array(ConstraintState),
  },
  {
    id: 'updateConstraintStatusUsingPOST',
    method: 'POST',
    path: `${environmentPath}/constraint`,
    demands: writesApplication,
    summary: 'Decide a constraint',
    description: 'Decides a constraint by hand.',
    body: { schema: AnyObject, required: true },
    answer: nothing,
  },
  {
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
])

export const managedApplicationOperations: Operation[] = [...applications, ...environments]
