/** Instances: one of them with its links, and its console. */

import { countModel, textModel } from '../../json/schemas.ts'
import type { JsonObject } from '../../json/values.ts'
import { pathTo } from '../../net/encode-path.ts'
import { operationsWith } from '../declare.ts'
import { readsAccount } from '../demands.ts'
import { ConsoleOutput, InstanceModel } from '../models/infrastructure.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { checkObject } from '../upstream-shape.ts'
import { loadWithAccount, parseServerGroupName, textFields, toInsightActions } from './insights.ts'

const { get } = operationsWith({ core: true, demands: readsAccount })

export const instanceOperations: Operation[] = [
  get('getInstanceDetailsUsingGET', '/instances/{account}/{region}/{instanceId}', {
    summary: 'Get an instance',
    description: 'One instance, with the links of `insights.instance`.',
    handle: loadInstance,
    answer: InstanceModel,
    errors: { 404: 'The account or the instance is unknown.' },
  }),
  get('getConsoleOutputUsingGET', '/instances/{account}/{region}/{instanceId}/console', {
    summary: 'Get console output',
    description:
      'Output of an instance or a job. With `tail` or `offset`, the embedded service answers a part with its offsets: bytes since the ' +
      'instance first started, which stay the same when old output is dropped. To follow, ask with `tail`, then repeatedly with ' +
      '`offset` as `nextOffset` said. An `offset` beyond the end reads from the oldest output. With `find`, it answers the lines of all ' +
      'that is kept which have the text. An external service, and that of Kubernetes, does not know these parameters: its answer has ' +
      'neither `nextOffset` nor `matches`, and holds all.',
    query: {
      provider: textModel.default('aws'),
      tail: countModel.optional().describe('Newest lines, at most 1 MiB; not together with `offset`.'),
      offset: countModel.optional().describe('First byte of the wanted output; an answer holds at most 1 MiB.'),
      find: textModel
        .optional()
        .describe('A text, in letters of either case: the answer has no output but `matches`, at most 1,000.'),
      container: textModel.optional().describe('Only this container, where an instance has several.'),
      previous: textModel.optional().describe('`true`: the output before the last restart of the container.'),
    },
    forward: 'clouddriver',
    answer: ConsoleOutput,
  }),
]

async function loadInstance(request: OperationRequest, { settings }: Platform): Promise<JsonObject> {
  const { account = '', region = '', instanceId = '' } = request.path
  const loaded = await loadWithAccount(request, { path: pathTo`/instances/${account}/${region}/${instanceId}` })
  const instance = checkObject(loaded.resource, 'clouddriver')
  const serverGroup = instance['serverGroup']
  const insightActions = toInsightActions(settings.insights.instance, [
    { account, region, instanceId },
    textFields(instance),
    loaded.account,
    typeof serverGroup === 'string' ? { application: parseServerGroupName(serverGroup).application } : {},
  ])
  return { ...instance, insightActions }
}
