/** Instances: one of them with its links, and its console. */

import { pathTo } from '../../http/encode-path.ts'
import type { JsonObject } from '../../json/values.ts'
import { readsAccount } from '../demands.ts'
import { ConsoleOutput, Instance } from '../models/infrastructure.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { text } from '../schemas.ts'
import { checkObject } from '../upstream-shape.ts'
import { parseServerGroupName, textFields, toInsightActions } from './insights.ts'
import { loadWithAccount } from './linked-resource.ts'

export const instanceOperations: Operation[] = [
  {
    id: 'getInstanceDetailsUsingGET',
    core: true,
    method: 'GET',
    path: '/instances/{account}/{region}/{instanceId}',
    demands: readsAccount,
    summary: 'Get an instance',
    description: 'One instance, with the links of `insights.instance`.',
    handle: loadInstance,
    answer: Instance,
    errors: { 404: 'The account or the instance is unknown.' },
  },
  {
    id: 'getConsoleOutputUsingGET',
    core: true,
    method: 'GET',
    path: '/instances/{account}/{region}/{instanceId}/console',
    demands: readsAccount,
    summary: 'Get console output',
    query: { provider: text.default('aws') },
    forward: 'clouddriver',
    answer: ConsoleOutput,
  },
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
