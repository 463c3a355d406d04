/** Accounts, clusters, server groups, instances, load balancers, networks, images, jobs, search results. */
import { z } from 'zod'
import { ApplicationAttributes } from '../../environments/application-models.ts'
import { AnyObject, alike, millisecondsModel, optionalTextsModel } from '../../json/schemas.ts'

const names = z.array(z.string())

const Moniker = z
  .looseObject({
    ...optionalTextsModel('app', 'stack', 'detail', 'cluster'),
    sequence: z.int().nullish(),
  })
  .meta({ id: 'Moniker', description: 'The parts of a name such as `shop-main-v012`.' })

export const AccountModel = z
  .looseObject({
    name: z.string(),
    ...optionalTextsModel('accountId', 'cloudProvider', 'environment', 'accountType'),
    type: z.string().describe('Cloud provider.'),
    requiredGroupMembership: names.nullish(),
    permissions: z.record(z.string(), names).optional().describe('Roles by authorization; empty means open.'),
    authorized: z.boolean().describe('Whether the caller may write to it.'),
    challengeDestructiveActions: z.boolean().nullish(),
    primaryAccount: z.boolean().nullish(),
    regions: z.unknown().optional().describe('With all fields only.'),
  })
  .meta({ id: 'Account', description: 'An account of a cloud provider.' })

export const AccountDefinition = z
  .looseObject({ name: z.string(), type: z.string().describe('Cloud provider.') })
  .meta({ id: 'AccountDefinition', description: 'A stored account; the fields of its cloud provider are allowed beside these.' })

const insightActions = z.array(z.looseObject({ url: z.string(), label: z.string() })).optional()

const HealthState = z.string().describe('Up, Down, Starting, OutOfService, Unknown, Draining, Succeeded or Failed.')

export const InstanceModel = z
  .looseObject({
    name: z.string(),
    ...optionalTextsModel('id', 'humanReadableName', 'account', 'region', 'zone', 'serverGroup', 'cluster', 'cloudProvider'),
    healthState: HealthState.nullish(),
    launchTime: millisecondsModel.nullish(),
    health: z.array(AnyObject).nullish(),
    insightActions,
  })
  .meta({ id: 'Instance' })

const Capacity = z
  .looseObject({ min: z.int().nullish(), max: z.int().nullish(), desired: z.int().nullish(), pinned: z.boolean().nullish() })
  .meta({ id: 'Capacity' })

const count = z.int().nullish()
const InstanceCounts = z
  .looseObject({ total: count, up: count, down: count, unknown: count, starting: count, outOfService: count })
  .meta({ id: 'InstanceCounts' })

export const ServerGroupModel = z
  .looseObject({
    name: z.string(),
    ...optionalTextsModel('account', 'type', 'cloudProvider', 'cluster', 'application', 'instanceType', 'vpcId'),
    region: z.string(),
    moniker: Moniker.nullish(),
    createdTime: millisecondsModel.nullish(),
    isDisabled: z.boolean().nullish().describe('Takes no traffic.'),
    disabled: z.boolean().nullish(),
    servingSinceMs: millisecondsModel
      .nullish()
      .describe('When it last began to take traffic; null: it has never come up. Missing: its provider does not record it.'),
    capacity: Capacity.nullish(),
    instanceCounts: InstanceCounts.nullish(),
    instances: z.array(InstanceModel).nullish(),
    loadBalancers: z.array(z.unknown()).nullish(),
    securityGroups: z.array(z.unknown()).nullish(),
    zones: names.nullish(),
    ...alike(AnyObject.nullish(), 'buildInfo', 'image', 'launchConfig', 'labels'),
    serverGroupManagers: z.array(AnyObject).nullish(),
    insightActions,
  })
  .meta({ id: 'ServerGroup', description: 'Equal instances that are deployed together.' })

export const ServerGroupManager = z
  .looseObject({
    name: z.string(),
    ...optionalTextsModel('account', 'region', 'namespace', 'kind'),
    moniker: Moniker.nullish(),
    serverGroups: z.array(AnyObject).nullish(),
  })
  .meta({ id: 'ServerGroupManager', description: 'What replaces server groups by newer ones, such as a Kubernetes deployment.' })

export const Cluster = z
  .looseObject({
    name: z.string(),
    ...optionalTextsModel('accountName', 'account', 'type', 'provider'),
    moniker: Moniker.nullish(),
    serverGroups: z.array(z.unknown()).nullish().describe('Server groups, or their names in lists.'),
    loadBalancers: z.array(z.unknown()).nullish().describe('Load balancers, or their names in lists.'),
  })
  .meta({ id: 'Cluster', description: 'Server groups of an application that replace each other.' })

export const ClusterOrNothing = z
  .looseObject({ ...Cluster.shape, name: z.string().optional() })
  .meta({ id: 'FoundCluster', description: 'A cluster; `{}` for an unknown one.' })

export const ScalingActivity = z
  .looseObject({
    ...optionalTextsModel('activityId', 'autoScalingGroupName', 'description', 'cause', 'statusCode', 'statusMessage'),
    startTime: z.unknown().optional(),
    endTime: z.unknown().optional(),
    progress: z.int().nullish(),
    details: z.string().nullish().describe('JSON as text.'),
  })
  .meta({ id: 'ScalingActivity' })

export const ConsoleOutput = z
  .looseObject({
    output: z.unknown().describe('Text, or a list of logs with `name` and `output`.'),
    offset: z.int().optional().describe('Of the first byte of `output`.'),
    nextOffset: z.int().optional().describe('Where the next part begins.'),
    endOffset: z.int().optional().describe('Where the output ends at present; there is more when it is beyond `nextOffset`.'),
    lostBytes: z.int().optional().describe('Bytes from the wanted offset on that were dropped before.'),
    line: z.int().optional().describe('With `tail`: number of the first line of `output`, counted from the oldest that is kept.'),
    matches: z
      .array(z.looseObject({ offset: z.int(), line: z.int() }))
      .optional()
      .describe('With `find`: the lines that have the text, by the offset of their first byte and their number.'),
    hasMoreMatches: z.boolean().optional().describe('With `find`: there are more than those.'),
  })
  .meta({ id: 'ConsoleOutput' })

export const LoadBalancerModel = z
  .looseObject({
    ...optionalTextsModel('name', 'account', 'region', 'type', 'cloudProvider', 'loadBalancerType', 'vpcId'),
    moniker: Moniker.nullish(),
    serverGroups: z.array(AnyObject).nullish().describe('Each with the instances that it sends traffic to.'),
    ...alike(z.array(z.unknown()).nullish(), 'instances', 'targetGroups', 'securityGroups'),
    insightActions,
  })
  .meta({ id: 'LoadBalancer' })

export const LoadBalancerItem = z
  .looseObject({
    name: z.string(),
    accounts: z
      .array(
        z.looseObject({
          name: z.string(),
          regions: z.array(z.looseObject({ name: z.string(), loadBalancers: z.array(LoadBalancerModel).nullish() })).nullish(),
        }),
      )
      .nullish(),
  })
  .meta({ id: 'LoadBalancerItem', description: 'A name with the load balancers that have it, by account and region.' })

export const SecurityGroupSummary = z
  .looseObject({ id: z.string(), name: z.string(), vpcId: z.string().nullish(), moniker: Moniker.nullish() })
  .meta({ id: 'SecurityGroupSummary' })

export const SecurityGroupModel = z
  .looseObject({
    ...optionalTextsModel('id', 'type', 'cloudProvider', 'accountName', 'region', 'application', 'description', 'vpcId'),
    name: z.string(),
    moniker: Moniker.nullish(),
    inboundRules: z.array(AnyObject).nullish(),
    outboundRules: z.array(AnyObject).nullish(),
  })
  .meta({ id: 'SecurityGroup' })

export const Network = z
  .looseObject({
    ...optionalTextsModel('id', 'name', 'cloudProvider', 'account', 'region'),
    deprecated: z.boolean().nullish(),
  })
  .meta({ id: 'Network' })

export const Subnet = z
  .looseObject({
    ...optionalTextsModel(
      'id',
      'type',
      'state',
      'vpcId',
      'cidrBlock',
      'account',
      'region',
      'availabilityZone',
      'purpose',
      'target',
    ),
    deprecated: z.boolean().nullish(),
  })
  .meta({ id: 'Subnet' })

export const InstanceType = z
  .looseObject({
    name: z.string(),
    ...optionalTextsModel('account', 'region'),
    defaultVCpus: z.int().nullish(),
    memoryInGiB: z.number().nullish(),
  })
  .meta({ id: 'InstanceType' })

export const ImageModel = z
  .looseObject({
    imageName: z.string().nullish().describe('Of a machine image.'),
    ...alike(AnyObject.nullish(), 'attributes', 'tagsByImageId', 'artifact'),
    accounts: names.nullish(),
    amis: z.record(z.string(), names).nullish().describe('Ids by region.'),
    repository: z.string().nullish().describe('Of a container image.'),
    ...optionalTextsModel('tag', 'account', 'registry', 'digest'),
  })
  .meta({ id: 'Image', description: 'A machine image or a container image.' })

export const JobModel = z
  .looseObject({
    ...optionalTextsModel('name', 'id', 'account', 'location', 'provider'),
    jobState: z.string().nullish().describe('Starting, Running, Succeeded, Failed or Unknown.'),
    createdTime: millisecondsModel.nullish(),
    completedTime: millisecondsModel.nullish(),
    completionDetails: AnyObject.nullish(),
    insightActions,
  })
  .meta({ id: 'Job', description: 'A container that runs to an end.' })

export const SearchResultSet = z
  .looseObject({
    ...alike(z.int(), 'pageNumber', 'pageSize', 'totalMatches'),
    ...optionalTextsModel('query', 'platform'),
    results: z.array(z.looseObject({ type: z.string(), provider: z.string().nullish() })),
  })
  .meta({ id: 'SearchResultSet' })

export const RawResource = z
  .looseObject({
    name: z.string(),
    ...optionalTextsModel('account', 'region', 'namespace', 'kind', 'apiVersion', 'displayName'),
    labels: AnyObject.nullish(),
    moniker: Moniker.nullish(),
  })
  .meta({ id: 'RawResource', description: 'A Kubernetes object that fits no other list.' })

export const ManifestModel = z
  .looseObject({
    ...optionalTextsModel('account', 'name', 'location'),
    moniker: Moniker.nullish(),
    manifest: AnyObject.nullish().describe('The Kubernetes object.'),
    status: AnyObject.nullish(),
    ...alike(z.array(AnyObject).nullish(), 'artifacts', 'events', 'warnings'),
  })
  .meta({ id: 'Manifest' })

export const ManifestPlan = z
  .looseObject({
    account: z.string().describe('Account of a provider that deploys manifests.'),
    application: z.string().describe('The application that the objects are to belong to.'),
    manifests: z.array(AnyObject).describe('As the stage `deployManifest` has them, without expressions.'),
    namespaceOverride: z.string().nullish().describe('Namespace of all objects that have one.'),
  })
  .meta({ id: 'ManifestPlan', description: 'Manifests to compare with a cluster; further fields are those of `deployManifest`.' })

const fieldChange = z.looseObject({
  path: z.string().describe('Such as `spec.template.spec.containers[name=main].image`.'),
  change: z.enum(['added', 'changed', 'removed']),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
})

export const ManifestDifference = z
  .looseObject({
    account: z.string(),
    namespace: z.string().describe('Empty for cluster-wide objects.'),
    name: z.string().describe('`kind name`, with a space.'),
    change: z.enum(['create', 'update', 'none', 'error']),
    fields: z.array(fieldChange),
    message: z.string().optional().describe('Why the cluster would refuse it.'),
  })
  .meta({ id: 'ManifestDifference', description: 'What a deployment would change in one object.' })

export const ManifestDrift = z
  .looseObject({
    account: z.string(),
    namespace: z.string().describe('Empty for cluster-wide objects.'),
    name: z.string().describe('`kind name`, with a space.'),
    manager: z.string().nullable().describe('What has changed it, such as `kubectl-edit`; null where the cluster does not say.'),
    since: z.string().nullable().describe('RFC 3339.'),
    fields: z.array(z.string()),
  })
  .meta({ id: 'ManifestDrift', description: 'Fields of a deployed object that something else has changed since.' })

export const EntityTag = z
  .looseObject({ name: z.string(), namespace: z.string().optional(), value: z.unknown() })
  .meta({ id: 'EntityTag' })

export const EntityTags = z
  .looseObject({ entityRef: AnyObject, tags: z.array(EntityTag) })
  .meta({ id: 'EntityTags', description: 'Tags of an entity.' })

export const Application = z
  .looseObject({
    name: z.string(),
    attributes: ApplicationAttributes,
    clusters: z.record(z.string(), z.array(Cluster)).describe('By account; empty with `expand=false`.'),
  })
  .meta({ id: 'Application' })
