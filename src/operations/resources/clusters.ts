/** Clusters: server groups of an application that are deployed together, as the infrastructure reports them. */
import { z } from 'zod'
import { flagModel, textModel } from '../../json/schemas.ts'
import type { JsonObject } from '../../json/values.ts'
import { operationsWith, polledByUsers } from '../declare.ts'
import { readsApplicationByKeyAccount, readsApplicationOnAccount } from '../demands.ts'
import { Cluster, ClusterOrNothing, LoadBalancerModel, ScalingActivity, ServerGroupModel } from '../models/infrastructure.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import { checkList } from '../upstream-shape.ts'

const clusterPath = '/applications/{application}/clusters/{account}/{clusterName}'

const { get } = operationsWith({ core: true, demands: readsApplicationOnAccount, forward: 'clouddriver' })

export const clusterOperations: Operation[] = [
  get('getClustersUsingGET2', '/applications/{application}/clusters', {
    ...polledByUsers,
    demands: readsApplicationByKeyAccount,
    summary: 'List clusters of an application',
    description: 'Cluster names of an application, by account.',
    answer: z.record(z.string(), z.array(z.string())),
  }),
  get('getClustersUsingGET1', '/applications/{application}/clusters/{account}', {
    summary: 'List clusters in an account',
    answer: z.array(Cluster),
  }),
  get('getClustersUsingGET', clusterPath, {
    summary: 'Get a cluster',
    description: 'One cluster. An unknown cluster is `{}`, not an error.',
    pick: firstCluster,
    on404: { answer: {} },
    answer: ClusterOrNothing,
  }),
  get('getClusterLoadBalancersUsingGET', `${clusterPath}/{type}/loadBalancers`, {
    summary: 'List load balancers of a cluster',
    description: 'Load balancers of a cluster at one cloud provider. Newer infrastructure services return 404.',
    answer: z.array(LoadBalancerModel),
  }),
  get('getServerGroupsUsingGET1', `${clusterPath}/serverGroups`, {
    summary: 'List server groups of a cluster',
    description: 'Server groups of a cluster; an unknown cluster has none.',
    forward: { service: 'clouddriver', path: clusterPath },
    pick: serverGroupsOf,
    on404: { answer: [] },
    answer: z.array(ServerGroupModel),
  }),
  get('getServerGroupsUsingGET', `${clusterPath}/serverGroups/{serverGroupName}`, {
    summary: 'List server groups by name',
    description: 'Server groups of a cluster that have one name, in several regions perhaps.',
    forward: { service: 'clouddriver', path: clusterPath },
    pick: (body, { path }) => serverGroupsOf(body).filter(({ name }) => name === path['serverGroupName']),
    on404: { answer: [] },
    answer: z.array(ServerGroupModel),
  }),
  get('getScalingActivitiesUsingGET', `${clusterPath}/serverGroups/{serverGroupName}/scalingActivities`, {
    summary: 'List scaling activities',
    description: 'Scaling history of a server group.',
    query: { provider: textModel.default('aws'), region: textModel.optional() },
    forward: { service: 'clouddriver', path: `${clusterPath}/{provider}/serverGroups/{serverGroupName}/scalingActivities` },
    answer: z.array(ScalingActivity),
  }),
  get('getTargetServerGroupUsingGET', `${clusterPath}/{cloudProvider}/{scope}/serverGroups/target/{target}`, {
    summary: 'Find a server group by target',
    description: 'The server group that a relative coordinate such as `newest` or `ancestor` names, in a region or zone.',
    query: { onlyEnabled: flagModel.optional(), validateOldest: flagModel.optional() },
    on404: { message: noTarget },
    answer: ServerGroupModel,
    errors: { 404: 'The cluster has no such server group.' },
  }),
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
