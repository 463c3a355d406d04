/** Canary analysis of the first generation (mine). While it is switched off there are no configurations. */
import { application, decidedByService, readsApplication } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { AnyObject, nonEmpty, nothing, ObjectList, TextList } from '../schemas.ts'

const historyPath = '/canaryDeployments/{canaryDeploymentId}/canaryAnalysisHistory'

export const firstCanaryOperations: Operation[] = [
  {
    id: 'showCanaryUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/canaries/{id}',
    demands: decidedByService,
    summary: 'One canary.',
    forward: { service: 'mine', path: '/canaries/{id}' },
    missingWhenDisabled: true,
    answer: AnyObject,
  },
  {
    id: 'generateCanaryResultUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/canaries/{id}/generateCanaryResult',
    demands: decidedByService,
    summary: 'Has the result of a canary computed now.',
    body: { schema: AnyObject, required: false },
    forward: { service: 'mine', path: '/canaries/{id}/generateCanaryResult' },
    missingWhenDisabled: true,
    success: 201,
    answer: nothing,
  },
  {
    id: 'endCanaryUsingPUT',
    section: 'beyond',
    method: 'PUT',
    path: '/canaries/{id}/end',
    demands: decidedByService,
    summary: 'Ends a canary.',
    body: { schema: AnyObject.describe('`result` and `reason`.'), required: false },
    forward: { service: 'mine', path: '/canaries/{id}/end' },
    missingWhenDisabled: true,
    answer: AnyObject.optional(),
  },
  {
    id: 'showCanaryAnalysisHistoryUsingGET',
    section: 'beyond',
    method: 'GET',
    path: historyPath,
    demands: decidedByService,
    summary: 'Analyses of one deployment of a canary.',
    forward: { service: 'mine', path: historyPath },
    missingWhenDisabled: true,
    answer: ObjectList,
  },
  {
    id: 'canaryConfigNamesForApplicationUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/canaryConfig/names',
    demands: application('READ', 'query'),
    summary: 'Names of the canary configurations of an application.',
    query: { application: nonEmpty },
    forward: { service: 'mine', path: '/canaryConfig/names', query: ['application'] },
    whenDisabled: [],
    answer: TextList,
  },
  {
    id: 'canaryConfigsForApplicationUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/canaryConfigs/{application}',
    demands: readsApplication,
    summary: 'Canary configurations of an application.',
    forward: { service: 'mine', path: '/canaryConfigs', query: ['application'] },
    whenDisabled: [],
    answer: ObjectList,
  },
]
