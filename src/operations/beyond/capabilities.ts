/** What the installation can do: expression functions, deployment monitors, the quiet period, subscriptions to messages. */
import { aboutGateway, sharedKnowledge } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { AnyObject, ObjectList } from '../schemas.ts'

export const capabilityOperations: Operation[] = [
  {
    id: 'getDeploymentMonitorsUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/capabilities/deploymentMonitors',
    demands: aboutGateway,
    summary: 'List deployment monitors',
    description: 'Deployment monitors that the orchestrator knows.',
    forward: { service: 'orca', path: '/capabilities/deploymentMonitors' },
    answer: ObjectList,
  },
  {
    id: 'getExpressionCapabilitiesUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/capabilities/expressions',
    demands: aboutGateway,
    summary: 'List functions of expressions',
    description: 'Functions that pipeline expressions may call.',
    forward: { service: 'orca', path: '/capabilities/expressions' },
    answer: AnyObject,
  },
  {
    id: 'getQuietPeriodStateUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/capabilities/quietPeriod',
    demands: aboutGateway,
    summary: 'Get the quiet period',
    description: 'Whether automatic starts are held back now, and from when to when.',
    forward: { service: 'echo', path: '/quietPeriod' },
    whenDisabled: {},
    answer: AnyObject,
  },
  {
    id: 'getSubscriptionsUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/pubsub/subscriptions',
    demands: sharedKnowledge,
    summary: 'List message subscriptions',
    description: 'Subscriptions whose messages may start pipelines.',
    forward: { service: 'echo', path: '/pubsub/subscriptions' },
    whenDisabled: [],
    answer: ObjectList,
  },
]
