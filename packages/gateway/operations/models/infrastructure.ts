/** Accounts, clusters, server groups, instances, load balancers, networks, images, jobs, search results. */

import {
  AnyObject,
  alike,
  millisecondsModel,
  model,
  nullableTexts,
  TextList,
} from '@fairlead/base/json/schemas.ts'
import { ApplicationAttributes } from '@fairlead/model/environments/application-models.ts'
import { z } from 'zod'

const names = TextList

const Moniker = model('Moniker', 'The parts of a name such as `shop-main-v012`.', {
  ...nullableTexts('app', 'stack', 'detail', 'cluster'),
  sequence: z.int().nullish(),
})

export const AccountModel = model('Account', 'An account of a cloud provider.', {
  name: z.string(),
  ...nullableTexts('accountId', 'cloudProvider', 'environment', 'accountType'),
  type: z.string().describe('Cloud provider.'),
  requiredGroupMembership: names.nullish(),
  permissions: z
    .record(z.string(), names)
    .optional()
    .describe('Roles by authorization; empty means open.'),
  authorized: z.boolean().describe('Whether the caller may write to it.'),
  challengeDestructiveActions: z.boolean().nullish(),
  primaryAccount: z.boolean().nullish(),
  regions: z.unknown().optional().describe('With all fields only.'),
})

export const AccountDefinition = model(
  'AccountDefinition',
  'A stored account; the fields of its cloud provider are allowed beside these.',
  { name: z.string(), type: z.string().describe('Cloud provider.') },
)

const insightActions = z.array(z.looseObject({ url: z.string(), label: z.string() })).optional()

const HealthState = z
  .string()
  .describe('Up, Down, Starting, OutOfService, Unknown, Draining, Succeeded or Failed.')

export const InstanceModel = model('Instance', {
  name: z.string(),
  ...nullableTexts(
    'id',
    'humanReadableName',
    'account',
    'region',
    'zone',
    'serverGroup',
    'cluster',
    'cloudProvider',
  ),
  healthState: HealthState.nullish(),
  launchTime: millisecondsModel.nullish(),
  health: z.array(AnyObject).nullish(),
  insightActions,
})

const Capacity = model('Capacity', {
  min: z.int().nullish(),
  max: z.int().nullish(),
  desired: z.int().nullish(),
  pinned: z.boolean().nullish(),
})

const count = z.int().nullish()
const InstanceCounts = model('InstanceCounts', {
  total: count,
  up: count,
  down: count,
  unknown: count,
  starting: count,
  outOfService: count,
})

export const ServerGroupModel = model(
  'ServerGroup',
  'Equal instances that are deployed together.',
  {
    name: z.string(),
    ...nullableTexts(
      'account',
      'type',
      'cloudProvider',
      'cluster',
      'application',
      'instanceType',
      'vpcId',
    ),
    region: z.string(),
    moniker: Moniker.nullish(),
    createdTime: millisecondsModel.nullish(),
    isDisabled: z.boolean().nullish().describe('Takes no traffic.'),
    disabled: z.boolean().nullish(),
    servingSinceMs: millisecondsModel
      .nullish()
      .describe(
        'When it last began to take traffic; null: it has never come up. Missing: its provider does not record it.',
      ),
    capacity: Capacity.nullish(),
    instanceCounts: InstanceCounts.nullish(),
    instances: z.array(InstanceModel).nullish(),
    loadBalancers: z.array(z.unknown()).nullish(),
    securityGroups: z.array(z.unknown()).nullish(),
    zones: names.nullish(),
    ...alike(AnyObject.nullish(), 'buildInfo', 'image', 'launchConfig', 'labels'),
    serverGroupManagers: z.array(AnyObject).nullish(),
    insightActions,
  },
)

export const ServerGroupManager = model(
  'ServerGroupManager',
  'What replaces server groups by newer ones, such as a Kubernetes deployment.',
  {
    name: z.string(),
    ...nullableTexts('account', 'region', 'namespace', 'kind'),
    moniker: Moniker.nullish(),
    serverGroups: z.array(AnyObject).nullish(),
  },
)

export const Cluster = model(
  'Cluster',
  'Server groups of an application that replace each other.',
  {
    name: z.string(),
    ...nullableTexts('accountName', 'account', 'type', 'provider'),
    moniker: Moniker.nullish(),
    serverGroups: z
      .array(z.unknown())
      .nullish()
      .describe('Server groups, or their names in lists.'),
    loadBalancers: z
      .array(z.unknown())
      .nullish()
      .describe('Load balancers, or their names in lists.'),
  },
)

export const ClusterOrNothing = model('FoundCluster', 'A cluster; `{}` for an unknown one.', {
  ...Cluster.shape,
  name: z.string().optional(),
})

export const ScalingActivity = model('ScalingActivity', {
  ...nullableTexts(
    'activityId',
    'autoScalingGroupName',
    'description',
    'cause',
    'statusCode',
    'statusMessage',
  ),
  startTime: z.unknown().optional(),
  endTime: z.unknown().optional(),
  progress: z.int().nullish(),
  details: z.string().nullish().describe('JSON as text.'),
})

export const ConsoleOutput = model('ConsoleOutput', {
  output: z.unknown().describe('Text, or a list of logs with `name` and `output`.'),
  offset: z.int().optional().describe('Of the first byte of `output`.'),
  nextOffset: z.int().optional().describe('Where the next part begins.'),
  endOffset: z
    .int()
    .optional()
    .describe('Where the output ends at present; there is more when it is beyond `nextOffset`.'),
  lostBytes: z
    .int()
    .optional()
    .describe('Bytes from the wanted offset on that were dropped before.'),
  line: z
    .int()
    .optional()
    .describe(
      'With `tail`: number of the first line of `output`, counted from the oldest that is kept.',
    ),
  matches: z
    .array(z.looseObject({ offset: z.int(), line: z.int() }))
    .optional()
    .describe(
      'With `find`: the lines that have the text, by the offset of their first byte and their number.',
    ),
  hasMoreMatches: z.boolean().optional().describe('With `find`: there are more than those.'),
})

export const LoadBalancerModel = model('LoadBalancer', {
  ...nullableTexts(
    'name',
    'account',
    'region',
    'type',
    'cloudProvider',
    'loadBalancerType',
    'vpcId',
  ),
  moniker: Moniker.nullish(),
  serverGroups: z
    .array(AnyObject)
    .nullish()
    .describe('Each with the instances that it sends traffic to.'),
  ...alike(z.array(z.unknown()).nullish(), 'instances', 'targetGroups', 'securityGroups'),
  insightActions,
})

export const LoadBalancerItem = model(
  'LoadBalancerItem',
  'A name with the load balancers that have it, by account and region.',
  {
    name: z.string(),
    accounts: z
      .array(
        z.looseObject({
          name: z.string(),
          regions: z
            .array(
              z.looseObject({
                name: z.string(),
                loadBalancers: z.array(LoadBalancerModel).nullish(),
              }),
            )
            .nullish(),
        }),
      )
      .nullish(),
  },
)

export const SecurityGroupSummary = model('SecurityGroupSummary', {
  id: z.string(),
  name: z.string(),
  vpcId: z.string().nullish(),
  moniker: Moniker.nullish(),
})

export const SecurityGroupModel = model('SecurityGroup', {
  ...nullableTexts(
    'id',
    'type',
    'cloudProvider',
    'accountName',
    'region',
    'application',
    'description',
    'vpcId',
  ),
  name: z.string(),
  moniker: Moniker.nullish(),
  inboundRules: z.array(AnyObject).nullish(),
  outboundRules: z.array(AnyObject).nullish(),
})

export const Network = model('Network', {
  ...nullableTexts('id', 'name', 'cloudProvider', 'account', 'region'),
  deprecated: z.boolean().nullish(),
})

export const Subnet = model('Subnet', {
  ...nullableTexts(
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

export const InstanceType = model('InstanceType', {
  name: z.string(),
  ...nullableTexts('account', 'region'),
  defaultVCpus: z.int().nullish(),
  memoryInGiB: z.number().nullish(),
})

export const ImageModel = model('Image', 'A machine image or a container image.', {
  imageName: z.string().nullish().describe('Of a machine image.'),
  ...alike(AnyObject.nullish(), 'attributes', 'tagsByImageId', 'artifact'),
  accounts: names.nullish(),
  amis: z.record(z.string(), names).nullish().describe('Ids by region.'),
  repository: z.string().nullish().describe('Of a container image.'),
  ...nullableTexts('tag', 'account', 'registry', 'digest'),
})

export const JobModel = model('Job', 'A container that runs to an end.', {
  ...nullableTexts('name', 'id', 'account', 'location', 'provider'),
  jobState: z.string().nullish().describe('Starting, Running, Succeeded, Failed or Unknown.'),
  createdTime: millisecondsModel.nullish(),
  completedTime: millisecondsModel.nullish(),
  completionDetails: AnyObject.nullish(),
  insightActions,
})

export const SearchResultSet = model('SearchResultSet', {
  ...alike(z.int(), 'pageNumber', 'pageSize', 'totalMatches'),
  ...nullableTexts('query', 'platform'),
  results: z.array(z.looseObject({ type: z.string(), provider: z.string().nullish() })),
})

export const RawResource = model('RawResource', 'A Kubernetes object that fits no other list.', {
  name: z.string(),
  ...nullableTexts('account', 'region', 'namespace', 'kind', 'apiVersion', 'displayName'),
  labels: AnyObject.nullish(),
  moniker: Moniker.nullish(),
})

export const ManifestModel = model('Manifest', {
  ...nullableTexts('account', 'name', 'location'),
  moniker: Moniker.nullish(),
  manifest: AnyObject.nullish().describe('The Kubernetes object.'),
  status: AnyObject.nullish(),
  health: AnyObject.nullish().describe(
    'The verdict: `state`, `sentence`, `reason`, `since`, `observedGeneration`, `final`. Only of the embedded infrastructure service.',
  ),
  ...alike(z.array(AnyObject).nullish(), 'artifacts', 'events', 'warnings'),
})

export const ManifestPlan = model(
  'ManifestPlan',
  'Manifests to compare with a cluster; further fields are those of `deployManifest`.',
  {
    account: z.string().describe('Account of a provider that deploys manifests.'),
    application: z.string().describe('The application that the objects are to belong to.'),
    manifests: z
      .array(AnyObject)
      .describe('As the stage `deployManifest` has them, without expressions.'),
    namespaceOverride: z.string().nullish().describe('Namespace of all objects that have one.'),
  },
)

const fieldChange = z.looseObject({
  path: z.string().describe('Such as `spec.template.spec.containers[name=main].image`.'),
  change: z.enum(['added', 'changed', 'removed']),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
})

export const ManifestDifference = model(
  'ManifestDifference',
  'What a deployment would change in one object.',
  {
    account: z.string(),
    namespace: z.string().describe('Empty for cluster-wide objects.'),
    name: z.string().describe('`kind name`, with a space.'),
    change: z.enum(['create', 'update', 'none', 'error']),
    fields: z.array(fieldChange),
    message: z.string().optional().describe('Why the cluster would refuse it.'),
  },
)

export const ManifestDrift = model(
  'ManifestDrift',
  'What a deployed object no longer has of its manifest, by the manager that changed it.',
  {
    account: z.string(),
    namespace: z.string().describe('Empty for cluster-wide objects.'),
    name: z.string().describe('`kind name`, with a space.'),
    manager: z
      .string()
      .nullable()
      .describe(
        'What has changed it, such as `kubectl-edit`; null where the cluster does not say.',
      ),
    since: z.string().nullable().describe('RFC 3339.'),
    deleted: z.boolean().optional().describe('Whether the object is gone.'),
    fields: TextList,
    changes: z
      .array(z.looseObject({ path: z.string(), live: z.unknown(), wanted: z.unknown() }))
      .optional()
      .describe('The fields with their values; those of secrets are hashes.'),
    namespaceGone: z.boolean().optional().describe('Whether its namespace is gone, too.'),
    note: z
      .string()
      .optional()
      .describe('Why no dry run was possible, or what to do about an object that is gone.'),
  },
)

export const EntityTag = model('EntityTag', {
  name: z.string(),
  namespace: z.string().optional(),
  value: z.unknown(),
})

export const EntityTags = model('EntityTags', 'Tags of an entity.', {
  entityRef: AnyObject,
  tags: z.array(EntityTag),
})

export const Application = model('Application', {
  name: z.string(),
  attributes: ApplicationAttributes,
  clusters: z
    .record(z.string(), z.array(Cluster))
    .describe('By account; empty with `expand=false`.'),
})
