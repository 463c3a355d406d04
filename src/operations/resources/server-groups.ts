/** Server groups of an application, and the details of one. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { textModel } from '../../json/schemas.ts'
import type { JsonObject } from '../../json/values.ts'
import { pathTo } from '../../net/encode-path.ts'
import { operationsWith, polledByUsers } from '../declare.ts'
import { readsApplicationByAccount, readsApplicationOnAccount } from '../demands.ts'
import { ServerGroupModel } from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { checkObject } from '../upstream-shape.ts'
import { loadWithAccount, parseServerGroupName, textFields, toInsightActions } from './insights.ts'

const { get } = operationsWith({ core: true, ...polledByUsers })

export const serverGroupOperations: Operation[] = [
  get('getServerGroupsUsingGET2', '/applications/{applicationName}/serverGroups', {
    demands: readsApplicationByAccount,
    summary: 'List server groups of an application',
    query: {
      expand: textModel.default('false'),
      cloudProvider: textModel.optional(),
      clusters: textModel.optional().describe('Pairs of account and cluster: `account:cluster`, comma-separated; empty: none.'),
    },
    handle: listServerGroups,
    answer: z.array(ServerGroupModel),
  }),
  get('getServerGroupDetailsUsingGET', '/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}', {
    demands: readsApplicationOnAccount,
    summary: 'Get a server group',
    description: 'One server group in full, with the links of `insights.serverGroup`.',
    query: { includeDetails: textModel.default('true') },
    handle: loadDetails,
    answer: ServerGroupModel,
    errors: { 404: 'The account or the server group is unknown.' },
  }),
]

async function listServerGroups({ path, query, search }: OperationRequest): Promise<StreamedAnswer> {
  const noneChosen = query['clusters'] === undefined && search.has('clusters')
  return new StreamedAnswer('clouddriver', {
    path: pathTo`/applications/${path['applicationName'] as string}/serverGroups`,
    query: noneChosen ? { ...query, clusters: '' } : query,
  })
}

async function loadDetails(request: OperationRequest, { settings }: Platform): Promise<JsonObject> {
  const { applicationName: application = '', account = '', region = '', serverGroupName = '' } = request.path
  const loaded = await loadWithAccount(request, {
    path: pathTo`/applications/${application}/serverGroups/${account}/${region}/${serverGroupName}`,
    query: { includeDetails: request.query['includeDetails'] },
  }).catch((error) => {
    if (!(error instanceof GatewayError) || error.status !== 404) throw error
    throw new GatewayError('NOT_FOUND', `Server group not found (id: ${serverGroupName})`, error.details)
  })
  const serverGroup = checkObject(loaded.resource, 'clouddriver')
  const { cluster } = parseServerGroupName(serverGroupName)
  const insightActions = toInsightActions(settings.insights.serverGroup, [
    { application, account, region, serverGroup: serverGroupName, cluster },
    textFields(serverGroup),
    loaded.account,
  ])
  return { ...serverGroup, insightActions }
}
