/** Clusters: server groups of an application that are deployed together, as the infrastructure reports them. */
import { z } from 'zod'
import type { JsonObject } from '../../json/values.ts'
import { readsApplicationByKeyAccount, readsApplicationOnAccount } from '../demands.ts'
import { Cluster, ClusterOrNothing, LoadBalancer, ScalingActivity, ServerGroup } from '../models/infrastructure.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import { flag, text } from '../schemas.ts'
import { checkList } from '../upstream-shape.ts'

const clusterPath = '/applications/{application}/clusters/{account}/{clusterName}'

export const clusterOperations: Operation[] = [
  {
    id: 'getClustersUsingGET2',
    core: true,
    polled: true,
    shared: 'rights',
    method: 'GET',
    path: '/applications/{application}/clusters',
    demands: readsApplicationByKeyAccount,
    summary: 'List clusters of an application',
    description: 'Cluster names of an application, by account.',
    forward: 'clouddriver',
    answer: z.record(z.string(), z.array(z.string())),
  },
  {
    id: 'getClustersUsingGET1',
    core: true,
    method: 'GET',
    path: '/applications/{application}/clusters/{account}',
    demands: readsApplicationOnAccount,
    summary: 'List clusters in an account',
    description: 'Clusters of an application in one account.',
    forward: 'clouddriver',
    answer: z.array(Cluster),
  },
  {
    id: 'getClustersUsingGET',
    core: true,
    method: 'GET',
    path: clusterPath,
    demands: readsApplicationOnAccount,
    summary: 'Get a cluster',
    description: 'One cluster. An unknown cluster is `{}`, not an error.',
    forward: 'clouddriver',
    pick: firstCluster,
    on404: { answer: {} },
    answer: ClusterOrNothing,
  },
  {
    id: 'getClusterLoadBalancersUsingGET',
    core: true,
    method: 'GET',
    path: `${clusterPath}/{type}/loadBalancers`,
    demands: readsApplicationOnAccount,
    summary: 'List load balancers of a cluster',
    description: 'Load balancers of a cluster at one cloud provider. Newer infrastructure services return 404.',
    forward: 'clouddriver',
    answer: z.array(LoadBalancer),
  },
  {
    id: 'getServerGroupsUsingGET1',
    core: true,
    method: 'GET',
    path: `${clusterPath}/serverGroups`,
    demands: readsApplicationOnAccount,
    summary: 'List server groups of a cluster',
    description: 'Server groups of a cluster; an unknown cluster has none.',
    forward: { service: 'clouddriver', path: clusterPath },
    pick: serverGroupsOf,
    on404: { answer: [] },
    answer: z.array(ServerGroup),
  },
  {
    id: 'getServerGroupsUsingGET',
    core: true,
    method: 'GET',
    path: `${clusterPath}/serverGroups/{serverGroupName}`,
    demands: readsApplicationOnAccount,
    summary: 'List server groups by name',
    description: 'Server groups of a cluster that have one name, in several regions perhaps.',
    forward: { service: 'clouddriver', path: clusterPath },
    pick: (body, { path }) => serverGroupsOf(body).filter(({ name }) => name === path['serverGroupName']),
    on404: { answer: [] },
    answer: z.array(ServerGroup),
  },
  {
    id: 'getScalingActivitiesUsingGET',
    core: true,
    method: 'GET',
    path: `${clusterPath}/serverGroups/{serverGroupName}/scalingActivities`,
    demands: readsApplicationOnAccount,
    summary: 'List scaling activities',
    description: 'Scaling history of a server group.',
    query: { provider: text.default('aws'), region: text.optional() },
    forward: { service: 'clouddriver', path: `${clusterPath}/{provider}/serverGroups/{serverGroupName}/scalingActivities` },
    answer: z.array(ScalingActivity),
  },
  {
    id: 'getTargetServerGroupUsingGET',
    core: true,
    method: 'GET',
    path: `${clusterPath}/{cloudProvider}/{scope}/serverGroups/target/{target}`,
    demands: readsApplicationOnAccount,
    summary: 'Find a server group by target',
    description: 'The server group that a relative coordinate such as `newest` or `ancestor` names, in a region or zone.',
    query: { onlyEnabled: flag.optional(), validateOldest: flag.optional() },
    forward: 'clouddriver',
    on404: { message: noTarget },
    answer: ServerGroup,
    errors: { 404: 'The cluster has no such server group.' },
  },
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
