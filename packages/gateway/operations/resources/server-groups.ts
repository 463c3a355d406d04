/** Clusters, their server groups and instances, and jobs. */

import { GatewayError } from '@fairlead/base/errors.ts'
import {
  countModel,
  flagModel,
  maybeText,
  TextList,
  textModel,
} from '@fairlead/base/json/schemas.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import { get, operationsWith, polledByUsers } from '../declare.ts'
import {
  readsAccount,
  readsApplication,
  readsApplicationByAccount,
  readsApplicationByKeyAccount,
  readsApplicationOnAccount,
} from '../demands.ts'
import {
  Cluster,
  ClusterOrNothing,
  ConsoleOutput,
  InstanceModel,
  JobModel,
  LoadBalancerModel,
  ScalingActivity,
  ServerGroupModel,
} from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { checkList, checkObject, readObject } from '../upstream-shape.ts'
import { loadWithAccount, parseServerGroupName, textFields, toInsightActions } from './insights.ts'

const listed = operationsWith({ core: true, ...polledByUsers })

export const serverGroupOperations: Operation[] = [
  listed.get(
    'getServerGroupsUsingGET2',
    '/applications/{applicationName}/serverGroups',
    'List server groups of an application',
    {
      demands: readsApplicationByAccount,
      query: {
        expand: textModel.default('false'),
        cloudProvider: maybeText,
        clusters: maybeText.describe(
          'Pairs of account and cluster: `account:cluster`, comma-separated; empty: none.',
        ),
      },
      handle: listServerGroups,
      answer: z.array(ServerGroupModel),
    },
  ),
  listed.get(
    'getServerGroupDetailsUsingGET',
    '/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}',
    'Get a server group',
    {
      demands: readsApplicationOnAccount,
      description: 'One server group in full, with the links of `insights.serverGroup`.',
      query: { includeDetails: textModel.default('true') },
      handle: loadDetails,
      answer: ServerGroupModel,
      errors: { 404: 'The account or the server group is unknown.' },
    },
  ),
]

async function listServerGroups({
  path,
  query,
  search,
}: OperationRequest): Promise<StreamedAnswer> {
  const noneChosen = query['clusters'] === undefined && search.has('clusters')
  return new StreamedAnswer('clouddriver', {
    path: pathTo`/applications/${path['applicationName'] as string}/serverGroups`,
    query: noneChosen ? { ...query, clusters: '' } : query,
  })
}

async function loadDetails(request: OperationRequest, { settings }: Platform): Promise<JsonObject> {
  const {
    applicationName: application = '',
    account = '',
    region = '',
    serverGroupName = '',
  } = request.path
  const loaded = await loadWithAccount(request, {
    path: pathTo`/applications/${application}/serverGroups/${account}/${region}/${serverGroupName}`,
    query: { includeDetails: request.query['includeDetails'] },
  }).catch((error) => {
    if (!(error instanceof GatewayError) || error.status !== 404) throw error
    throw new GatewayError(
      'NOT_FOUND',
      `Server group not found (id: ${serverGroupName})`,
      error.details,
    )
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

const clusterPath = '/applications/{application}/clusters/{account}/{clusterName}'

const inCluster = operationsWith({
  core: true,
  demands: readsApplicationOnAccount,
  forward: 'clouddriver',
})

export const clusterOperations: Operation[] = [
  inCluster.get(
    'getClustersUsingGET2',
    '/applications/{application}/clusters',
    'List clusters of an application',
    {
      ...polledByUsers,
      demands: readsApplicationByKeyAccount,
      description: 'Cluster names of an application, by account.',
      answer: z.record(z.string(), TextList),
    },
  ),
  inCluster.get(
    'getClustersUsingGET1',
    '/applications/{application}/clusters/{account}',
    'List clusters in an account',
    {
      answer: z.array(Cluster),
    },
  ),
  inCluster.get('getClustersUsingGET', clusterPath, 'Get a cluster', {
    description: 'One cluster. An unknown cluster is `{}`, not an error.',
    pick: firstCluster,
    on404: { answer: {} },
    answer: ClusterOrNothing,
  }),
  inCluster.get(
    'getClusterLoadBalancersUsingGET',
    `${clusterPath}/{type}/loadBalancers`,
    'List load balancers of a cluster',
    {
      description:
        'Load balancers of a cluster at one cloud provider. Newer infrastructure services return 404.',
      answer: z.array(LoadBalancerModel),
    },
  ),
  inCluster.get(
    'getServerGroupsUsingGET1',
    `${clusterPath}/serverGroups`,
    'List server groups of a cluster',
    {
      description: 'Server groups of a cluster; an unknown cluster has none.',
      forward: `clouddriver ${clusterPath}`,
      pick: serverGroupsOf,
      on404: { answer: [] },
      answer: z.array(ServerGroupModel),
    },
  ),
  inCluster.get(
    'getServerGroupsUsingGET',
    `${clusterPath}/serverGroups/{serverGroupName}`,
    'List server groups by name',
    {
      description: 'Server groups of a cluster that have one name, in several regions perhaps.',
      forward: `clouddriver ${clusterPath}`,
      pick: (body, { path }) =>
        serverGroupsOf(body).filter(({ name }) => name === path['serverGroupName']),
      on404: { answer: [] },
      answer: z.array(ServerGroupModel),
    },
  ),
  inCluster.get(
    'getScalingActivitiesUsingGET',
    `${clusterPath}/serverGroups/{serverGroupName}/scalingActivities`,
    'List scaling activities',
    {
      description: 'Scaling history of a server group.',
      query: { provider: textModel.default('aws'), region: maybeText },
      forward: `clouddriver ${clusterPath}/{provider}/serverGroups/{serverGroupName}/scalingActivities`,
      answer: z.array(ScalingActivity),
    },
  ),
  inCluster.get(
    'getTargetServerGroupUsingGET',
    `${clusterPath}/{cloudProvider}/{scope}/serverGroups/target/{target}`,
    'Find a server group by target',
    {
      description:
        'The server group that a relative coordinate such as `newest` or `ancestor` names, in a region or zone.',
      query: { onlyEnabled: flagModel.optional(), validateOldest: flagModel.optional() },
      on404: { message: noTarget },
      answer: ServerGroupModel,
      errors: { 404: 'The cluster has no such server group.' },
    },
  ),
]

/** The infrastructure answers with one entry per cloud provider; clients expect the first. */
function firstCluster(body: unknown): JsonObject | undefined {
  return checkList(body, 'clouddriver')[0]
}

function serverGroupsOf(body: unknown): JsonObject[] {
  const groups = firstCluster(body)?.['serverGroups'] ?? []
  return checkList(groups, 'clouddriver')
}

function noTarget({ path }: OperationRequest): string {
  const { target, cloudProvider, account, scope, clusterName } = path
  return `There is no server group for ${target} in ${cloudProvider}/${account}/${scope}/${clusterName}.`
}

const instance = operationsWith({ core: true, demands: readsAccount })

export const instanceOperations: Operation[] = [
  instance.get(
    'getInstanceDetailsUsingGET',
    '/instances/{account}/{region}/{instanceId}',
    'Get an instance',
    {
      description: 'One instance, with the links of `insights.instance`.',
      handle: loadInstance,
      answer: InstanceModel,
      errors: { 404: 'The account or the instance is unknown.' },
    },
  ),
  instance.get(
    'getConsoleOutputUsingGET',
    '/instances/{account}/{region}/{instanceId}/console',
    'Get console output',
    {
      description:
        'Output of an instance or a job. With `tail` or `offset`, the embedded service answers a part with its offsets: bytes since the ' +
        'instance first started, which stay the same when old output is dropped. To follow, ask with `tail`, then repeatedly with ' +
        '`offset` as `nextOffset` said. An `offset` beyond the end reads from the oldest output. With `find`, it answers the lines of all ' +
        'that is kept which have the text. An external service, and that of Kubernetes, does not know these parameters: its answer has ' +
        'neither `nextOffset` nor `matches`, and holds all.',
      query: {
        provider: textModel.default('aws'),
        tail: countModel
          .optional()
          .describe('Newest lines, at most 1 MiB; not together with `offset`.'),
        offset: countModel
          .optional()
          .describe('First byte of the wanted output; an answer holds at most 1 MiB.'),
        find: textModel
          .optional()
          .describe(
            'A text, in letters of either case: the answer has no output but `matches`, at most 1,000.',
          ),
        container: maybeText.describe('Only this container, where an instance has several.'),
        previous: maybeText.describe(
          '`true`: the output before the last restart of the container.',
        ),
      },
      forward: 'clouddriver',
      answer: ConsoleOutput,
    },
  ),
]

async function loadInstance(
  request: OperationRequest,
  { settings }: Platform,
): Promise<JsonObject> {
  const { account = '', region = '', instanceId = '' } = request.path
  const loaded = await loadWithAccount(request, {
    path: pathTo`/instances/${account}/${region}/${instanceId}`,
  })
  const instance = checkObject(loaded.resource, 'clouddriver')
  const serverGroup = instance['serverGroup']
  const insightActions = toInsightActions(settings.insights.instance, [
    { account, region, instanceId },
    textFields(instance),
    loaded.account,
    typeof serverGroup === 'string'
      ? { application: parseServerGroupName(serverGroup).application }
      : {},
  ])
  return { ...instance, insightActions }
}

export const jobOperations: Operation[] = [
  get('getJobsUsingGET', '/applications/{applicationName}/jobs', 'List jobs of an application', {
    core: true,
    ...polledByUsers,
    demands: readsApplication,
    description: 'Jobs of an application. Newer infrastructure services return 404.',
    query: { expand: textModel.default('false') },
    forward: 'clouddriver',
    answer: z.array(JobModel),
  }),
  get(
    'getJobUsingGET',
    '/applications/{applicationName}/jobs/{account}/{region}/{name}',
    'Get a job',
    {
      core: true,
      demands: readsApplicationOnAccount,
      description:
        'One job, with the links of `insights.job`. An unknown job is `{}`, not an error.',
      query: { expand: textModel.default('false').describe('Accepted and ignored.') },
      handle: loadJob,
      answer: JobModel,
    },
  ),
]

async function loadJob(request: OperationRequest, { settings }: Platform): Promise<JsonObject> {
  const {
    applicationName: application = '',
    account = '',
    region = '',
    name: jobName = '',
  } = request.path
  try {
    const path = pathTo`/applications/${application}/jobs/${account}/${region}/${jobName}`
    const job = readObject(await request.call('clouddriver', { path }), 'clouddriver')
    const variables = { application, account, region, jobName, cloudProvider: job['cloudProvider'] }
    return { ...job, insightActions: toInsightActions(settings.insights.job, [variables]) }
  } catch (error) {
    if (error instanceof GatewayError && error.status === 404) return {}
    throw error
  }
}
