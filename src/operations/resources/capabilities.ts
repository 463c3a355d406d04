/** Capabilities: expression functions, deployment monitors, the quiet period, subscriptions to messages. */
import { z } from 'zod'
import { aboutGateway, sharedKnowledge } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { milliseconds, ObjectList } from '../schemas.ts'

const Described = { name: z.string(), description: z.string().nullish() }

const ExpressionCapabilities = z
  .looseObject({
    functions: z.array(
      z.looseObject({ ...Described, parameters: z.array(z.looseObject({ ...Described, type: z.string().nullish() })).nullish() }),
    ),
    spelEvaluators: z.array(z.looseObject({ versionKey: z.string(), description: z.string().nullish() })).nullish(),
  })
  .meta({ id: 'ExpressionCapabilities' })

const QuietPeriod = z
  .looseObject({
    enabled: z.boolean().optional(),
    inQuietPeriod: z.boolean().optional(),
    startTime: milliseconds.optional().describe('-1 when it is not set.'),
    endTime: milliseconds.optional().describe('-1 when it is not set.'),
  })
  .meta({ id: 'QuietPeriod' })

const Subscription = z.looseObject({ pubsubSystem: z.string(), subscriptionName: z.string() }).meta({ id: 'Subscription' })

export const capabilityOperations: Operation[] = [
  {
    id: 'getDeploymentMonitorsUsingGET',
    method: 'GET',
    path: '/capabilities/deploymentMonitors',
    demands: aboutGateway,
    summary: 'List deployment monitors',
    description: 'Deployment monitors that the orchestrator knows.',
    forward: 'orca',
    answer: ObjectList,
  },
  {
    id: 'getExpressionCapabilitiesUsingGET',
    method: 'GET',
    path: '/capabilities/expressions',
    demands: aboutGateway,
    summary: 'List functions of expressions',
    description: 'Functions that pipeline expressions may call.',
    forward: 'orca',
    answer: ExpressionCapabilities,
  },
  {
    id: 'getQuietPeriodStateUsingGET',
    method: 'GET',
    path: '/capabilities/quietPeriod',
    demands: aboutGateway,
    summary: 'Get the quiet period',
    description: 'Whether automatic starts are held back now, and from when to when.',
    forward: { service: 'echo', path: '/quietPeriod' },
    whenDisabled: {},
    answer: QuietPeriod,
  },
  {
    id: 'getSubscriptionsUsingGET',
    method: 'GET',
    path: '/pubsub/subscriptions',
    demands: sharedKnowledge,
    summary: 'List message subscriptions',
    description: 'Subscriptions whose messages may start pipelines.',
    forward: 'echo',
    whenDisabled: [],
    answer: z.array(Subscription),
  },
]
