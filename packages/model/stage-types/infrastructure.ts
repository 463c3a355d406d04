/** Descriptions of the stage types that work on infrastructure. */
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { analysisFields } from './canaries.ts'
import {
  account,
  accountFields,
  applicationField,
  capacity,
  cluster,
  healthTypes,
  healthyShare,
  optional,
  placeFields,
  places,
  provider,
  serverGroup,
  targetFields,
  waitsForCompletion,
} from './common.ts'
import {
  choice,
  flag,
  json,
  map,
  moment,
  number,
  object,
  objects,
  type StageDescription,
  stagesOf,
  text,
  textListField,
} from './description.ts'
import { checkFields } from './verification.ts'

export const canarySteps = object(
  'canary',
  'canary: what must go well before the new server group gets all of the traffic.',
  [
    objects(
      'steps',
      'One after another. A step has one or more of these fields, which count in this order.',
      [
        number('percent', 'Share of the traffic that the new server group gets from now on.', {
          range: { from: 0, to: 100 },
        }),
        number('pauseSeconds', 'Seconds to wait.', { range: { from: 0 } }),
        objects(
          'checks',
          'Checks of the new server group that must hold, as of the stage verify.',
          checkFields,
        ),
        object(
          'analysis',
          'A canary analysis that must pass, as the stage kayentaCanary. Scopes without names compare with the previous server group.',
          undefined,
          { hiddenFields: analysisFields },
        ),
        object(
          'judgment',
          'Waits until a user continues or stops, as the stage manualJudgment with these fields; {} is enough.',
        ),
      ],
    ),
  ],
)

export const strategyFields = [
  choice(
    'strategy',
    'What happens to the previous server groups. highlander removes them, redblack disables them, rollingredblack does so step by step. recreate stops them before it starts the new one: without a strategy, programs on this machine with a volume for one writer get it. canary sends the new one more of the traffic step by step, and none once a step fails.',
    {
      choices: [
        '',
        'none',
        'highlander',
        'redblack',
        'rollingredblack',
        'recreate',
        'canary',
        'custom',
      ],
      rejectsNear: true,
      default: '',
    },
  ),
  number('maxRemainingAsgs', 'redblack, recreate, canary: server groups that stay; 0 keeps all.', {
    default: 2,
  }),
  flag(
    'allowDeleteActive',
    'redblack, recreate, canary: also removes server groups that take traffic.',
  ),
  number(
    'delayBeforeCleanup',
    'redblack, rollingredblack, canary: seconds before the former server group is disabled.',
    {
      default: 0,
      otherNames: ['delayBeforeDisableSec'],
    },
  ),
  flag(
    'scaleDown',
    'redblack, rollingredblack, canary: takes the instances of the former server group away.',
    { default: true },
  ),
  number('delayBeforeScaleDownSec', 'Seconds before that.', { default: 0 }),
  flag('allowScaleDownActive', 'Also where it still takes traffic.'),
  json('targetPercentages', 'rollingredblack: shares of the capacity, in percent, in order.', {
    default: [100],
  }),
  object(
    'pipelineBeforeCleanup',
    'rollingredblack: a pipeline that must succeed after each step.',
    [
      applicationField,
      text('pipelineId', 'Id of the pipeline.', { choicesFrom: 'pipelines' }),
      map('pipelineParameters', 'Values of its parameters.'),
    ],
  ),
  canarySteps,
  text('strategyApplication', 'custom: application of the strategy.', {
    choicesFrom: 'applications',
  }),
  text('strategyPipeline', 'custom: id of the strategy.'),
  map('pipelineParameters', 'custom: values of its parameters.'),
  object('rollback', 'After a failed deployment.', [
    flag(
      'onFailure',
      'Gives the traffic back to the former server group, which recreate starts again. A version that did not come up is disabled in any case.',
      { default: true },
    ),
    flag('destroyLatest', 'Also removes the new one; a canary that was stopped, too.'),
    flag('destroyCanceled', 'Removes the new one of a run that is cancelled.'),
  ]),
]

/** A server group to create. Providers take further fields of their own. */
export const newGroupFields = [
  ...placeFields,
  applicationField,
  text('stack', 'Second part of the name of the cluster.'),
  text('freeFormDetails', 'Third part of the name of the cluster.'),
  text(
    'imageId',
    'The image; unless given, the one that an earlier stage has baked, built or found.',
    {
      choicesFrom: 'images',
      otherNames: ['amiName', 'image'],
    },
  ),
  text(
    'imageAccount',
    'Account that has the image, if its own does not: that one gets it, too. Needs WRITE on both.',
    {
      choicesFrom: 'accounts',
    },
  ),
  text('imageArtifactId', 'In place of an image: the expected artifact that is one.', {
    choicesFrom: 'artifacts',
  }),
  capacity,
  flag('useSourceCapacity', 'Takes the capacity of the previous server group; fails without one.'),
  flag('preferSourceCapacity', 'The same, and uses `capacity` without one.'),
  object(
    'source',
    'The previous server group; unless given, the newest enabled one of the cluster.',
    [
      text('account', 'Its account.', { choicesFrom: 'accounts' }),
      text('region', 'Its region.', { choicesFrom: 'regions' }),
      text('serverGroupName', 'Its name.', {
        choicesFrom: 'server-groups',
        otherNames: ['asgName'],
      }),
      flag('useSourceCapacity', 'As the field of this name beside.'),
    ],
  ),
  flag('startDisabled', 'The new server group takes no traffic at first.'),
  textListField('loadBalancers', 'Load balancers that it joins.', {
    choicesFrom: 'load-balancers',
  }),
  number(
    'trafficPercent',
    'Share of the requests to each of them that it gets, from 0 to 100; as of shareTraffic.',
  ),
  textListField('securityGroups', 'Its security groups.', { choicesFrom: 'security-groups' }),
  text('instanceType', 'Its instance type.', { choicesFrom: 'instance-types' }),
  map('env', 'On this machine: environment variables of its programs.'),
  object(
    'startLimits',
    'On this machine: when the stage fails because instances do not come up; unless given, as the account has it.',
    [
      number('seconds', 'Seconds within which the instances have to be up.'),
      number(
        'failures',
        'Failed starts of an instance in a row; a program that is missing counts at once.',
      ),
    ],
  ),
  flag('isClone', 'Copies `source` instead of creating it from these fields.'),
  healthyShare,
  healthTypes,
  ...strategyFields,
]

const trafficFields = [
  number(
    'desiredPercentage',
    'Share of the instances, in percent, all unless given; others keep their traffic.',
  ),
  healthTypes,
]

export const resizing = [
  choice('action', 'How the new size is found.', {
    choices: ['scale_exact', 'scale_up', 'scale_down', 'scale_to_cluster', 'scale_to_server_group'],
    onlyChoices: true,
    default: 'scale_exact',
  }),
  text('resizeType', 'exact: the same as the action scale_exact.'),
  capacity,
  number('scalePct', 'Change in percent.'),
  number('scaleNum', 'Change in instances, unless `scalePct` is set.', { default: 0 }),
  object('source', 'scale_to_server_group: the server group whose capacity is taken.', [
    text('serverGroupName', 'Its name.', { otherNames: ['asgName'], choicesFrom: 'server-groups' }),
    text('region', 'Its region.', { choicesFrom: 'regions' }),
  ]),
  flag('pinCapacity', 'Makes minimum and maximum the desired number.'),
  flag('pinMinimumCapacity', 'Makes the minimum the desired number.'),
  flag('unpinMinimumCapacity', 'Restores the minimum.'),
  number('originalMin', 'unpinMinimumCapacity: the minimum to restore.'),
  object('originalCapacity', 'unpinMinimumCapacity: the same.', [
    number('min', 'The minimum to restore.'),
  ]),
  healthyShare,
  healthTypes,
]

const clusterFields = [
  ...placeFields,
  cluster,
  flag('continueIfClusterNotFound', 'A missing cluster is no error.'),
  number('drainSeconds', 'How long connections have to drain; 90 unless given, 0 on this machine.'),
  healthTypes,
]

const keepsLarger = flag(
  'preferLargerOverNewer',
  'Keeps the largest server groups rather than the newest.',
)

const disabling = [
  number('remainingEnabledServerGroups', 'How many stay enabled.', { default: 1 }),
  keepsLarger,
]

const shrinking = [
  number('shrinkToSize', 'How many stay.', { default: 1 }),
  flag('allowDeleteActive', 'Also destroys those that take traffic; they are disabled first.'),
  flag('retainLargerOverNewer', 'Keeps the largest rather than the newest.'),
]

const scalingDown = [
  number('remainingFullSizeServerGroups', 'How many keep their size.', { default: 1 }),
  flag('allowScaleDownActive', 'Also those that take traffic.'),
  keepsLarger,
]

export const clusterChoices = [...clusterFields, ...disabling, ...shrinking, ...scalingDown]

export const skipsDisable = flag(
  'skipDisableBeforeDestroy',
  'Does not take it out of traffic first.',
)

export const propertyFile = text(
  'propertyFile',
  'File with properties that the program writes; they become outputs.',
)
export const jobName = text('jobName', 'The job.', { required: true, otherNames: ['jobId'] })

export const findImageFields = [
  ...placeFields,
  cluster,
  choice('selectionStrategy', 'Which server group of the cluster; FAIL if there are several.', {
    choices: ['NEWEST', 'LARGEST', 'OLDEST', 'FAIL'],
    onlyChoices: true,
    default: 'NEWEST',
  }),
  flag('onlyEnabled', 'Looks at enabled server groups only.', { default: true }),
]

const instanceFields = [
  ...placeFields,
  serverGroup,
  textListField('instanceIds', 'Ids of the instances.', {
    choicesFrom: 'instances',
    otherNames: ['instance', 'asgName'],
    required: true,
  }),
  healthTypes,
]

const balancers = textListField(
  'loadBalancerNames',
  'The load balancers; unless given, those of the server group.',
  {
    choicesFrom: 'load-balancers',
  },
)

const protocols = ['HTTP', 'HTTPS', 'TCP', 'SSL']

const listenerFields = [
  choice('externalProtocol', 'Protocol of clients.', { choices: protocols }),
  number('externalPort', 'Port of clients.'),
  choice('internalProtocol', 'Protocol of the instances.', { choices: protocols }),
  number('internalPort', 'Port of the instances; on this machine it is known.'),
  text('sslCertificateId', 'Name of the certificate.'),
]

const cidr = text('cidr', 'Addresses, such as 10.0.0.0/8.')

const portFields = [
  choice('type', 'The protocol.', { choices: ['tcp', 'udp'] }),
  number('startPort', 'The first port.'),
  number('endPort', 'The last port.'),
]

const passedOn = 'Further fields go to the provider as they are.'

const deployment = stagesOf('Deployment')
const serverGroups = stagesOf('Server groups')
const clusters = stagesOf('Clusters')
const traffic = stagesOf('Traffic')
const images = stagesOf('Images')
const jobs = stagesOf('Jobs')
const instances = stagesOf('Instances')
const records = stagesOf('Records')

export const deploy = deployment.pipeline(
  'deploy',
  'Deploy',
  'Creates server groups, and hands the traffic over as the strategy says.',
  [
    objects('clusters', `Server groups to create. ${passedOn}`, newGroupFields, {
      required: true,
      otherNames: ['cluster'],
    }),
    text(
      'trafficOptions',
      'In the pipeline of a strategy: disable starts the server group without traffic.',
    ),
    healthyShare,
    healthTypes,
  ],
)

const healthyRollbackShare = number(
  'targetHealthyRollbackPercentage',
  'Share that must be up, in percent; all unless given.',
)
const delayBeforeDisable = number(
  'delayBeforeDisableSeconds',
  'Seconds between enabling and disabling.',
  { default: 0 },
)

export const rollbackServerGroup = deployment.both(
  'rollbackServerGroup',
  'Roll back a server group',
  'Enables an earlier server group, and disables the present one; with a volume for one writer, that one ends first.',
  [
    ...placeFields,
    choice(
      'rollbackType',
      'EXPLICIT restores a server group that exists; PREVIOUS_IMAGE creates one with the previous image.',
      {
        choices: ['EXPLICIT', 'PREVIOUS_IMAGE'],
        default: 'EXPLICIT',
      },
    ),
    object(
      'rollbackContext',
      'The server groups.',
      [
        text('rollbackServerGroupName', 'The one to roll back.', {
          required: true,
          choicesFrom: 'server-groups',
        }),
        text('restoreServerGroupName', 'EXPLICIT: the one to restore.', {
          choicesFrom: 'server-groups',
        }),
        text('imageId', 'PREVIOUS_IMAGE: the image.', { choicesFrom: 'images' }),
        text('imageName', 'PREVIOUS_IMAGE: the image by name.', { choicesFrom: 'images' }),
        healthyRollbackShare,
        delayBeforeDisable,
        flag('disableOnly', 'Only disables.'),
        flag('enableAndDisableOnly', 'Leaves the sizes as they are.'),
      ],
      { required: true },
    ),
    healthTypes,
  ],
)

export const rollbackCluster = deployment.both(
  'rollbackCluster',
  'Roll back a cluster',
  'Rolls a cluster back to what ran before, region by region.',
  [
    ...placeFields,
    cluster,
    text('originalServerGroup', 'The server group to restore; unless given, what ran before.', {
      choicesFrom: 'server-groups',
    }),
    number('waitTimeBetweenRegions', 'Seconds between two regions.', { default: 0 }),
    {
      ...healthyRollbackShare,
      help: 'Share that must be up, in percent; unless given, 95 of 20 and more instances, 90 of 10.',
    },
    delayBeforeDisable,
    object('additionalRollbackContext', 'Further fields of `rollbackContext`.'),
    healthTypes,
  ],
)

export const bulkDestroy = serverGroups.both(
  'bulkDestroyServerGroup',
  'Destroy server groups',
  'Removes several server groups of one region.',
  [
    ...placeFields,
    textListField('serverGroupNames', 'Their names.', {
      required: true,
      choicesFrom: 'server-groups',
    }),
  ],
)

export const findImageByTags = images.pipeline(
  'findImageFromTags',
  'Find an image by tags',
  'Finds the newest image of a package with given tags, for later stages.',
  [
    provider,
    places,
    text('packageName', 'Name of the package.', { required: true }),
    map('tags', 'Tags of the image.'),
  ],
)

export const infrastructureStages: readonly StageDescription[] = [
  deploy,
  deployment.task(
    'createServerGroup',
    'Create a server group',
    'Creates one server group.',
    newGroupFields,
  ),
  ...[
    ['cloneServerGroup', 'Clone a server group'],
    ['copyLastAsg', 'Copy the last server group'],
  ].map(([type = '', label = '']) =>
    deployment.both(
      type,
      label,
      'Creates a server group like another one, with what the fields change.',
      newGroupFields,
    ),
  ),
  rollbackServerGroup,
  rollbackCluster,
  serverGroups.both(
    'enableServerGroup',
    'Enable a server group',
    'Lets a server group take traffic.',
    [...targetFields, healthyShare, ...trafficFields],
  ),
  serverGroups.both(
    'disableServerGroup',
    'Disable a server group',
    'Takes a server group out of traffic; its instances keep running.',
    [...targetFields, ...trafficFields],
  ),
  serverGroups.both(
    'shareTraffic',
    'Share traffic',
    'Sends a percentage of the requests to a server group.',
    [
      ...targetFields,
      number(
        'percent',
        'Share of the requests to each of its load balancers, from 0 to 100. Server groups without a share divide the rest. Without it, the share is taken away.',
      ),
    ],
  ),
  serverGroups.both(
    'resizeServerGroup',
    'Resize a server group',
    'Changes the number of instances.',
    [...targetFields, ...resizing],
  ),
  serverGroups.task(
    'pinServerGroup',
    'Pin a server group',
    'Fixes the size of a server group for the time of a deployment.',
    [...targetFields, ...resizing],
  ),
  serverGroups.both(
    'destroyServerGroup',
    'Destroy a server group',
    'Disables a server group, stops its instances and removes it.',
    [...targetFields, skipsDisable, healthTypes],
  ),
  bulkDestroy,
  serverGroups.task(
    'determineTargetServerGroup',
    'Find the target',
    'Finds the server group that `target` means; the engine adds it to stages with a target.',
    targetFields.map((field) => (field.name === 'target' ? { ...field, required: true } : field)),
  ),
  clusters.both(
    'disableCluster',
    'Disable a cluster',
    'Takes the older server groups of a cluster out of traffic.',
    [...clusterFields, ...disabling],
  ),
  clusters.both(
    'shrinkCluster',
    'Shrink a cluster',
    'Destroys the older server groups of a cluster.',
    [...clusterFields, ...shrinking],
  ),
  clusters.both(
    'scaleDownCluster',
    'Scale a cluster down',
    'Takes all instances of the older server groups of a cluster away.',
    [...clusterFields, ...scalingDown],
  ),
  ...[
    [
      'terminateInstances',
      'Terminate instances',
      'Stops instances; their server group starts others.',
    ],
    [
      'terminateInstanceAndDecrementServerGroup',
      'Terminate an instance and shrink',
      'Stops an instance and lowers the desired size.',
    ],
    [
      'detachInstances',
      'Detach instances',
      'Takes instances out of their server group without stopping them.',
    ],
    ['rebootInstances', 'Reboot instances', 'Restarts instances, and waits until they are up.'],
    [
      'registerInstancesWithLoadBalancer',
      'Put instances into load balancers',
      'Lets instances take traffic of load balancers.',
    ],
    [
      'deregisterInstancesFromLoadBalancer',
      'Take instances out of load balancers',
      'Ends the traffic of load balancers to instances.',
    ],
    [
      'enableInstancesInDiscovery',
      'Enable instances in discovery',
      'Lets instances take traffic of the service discovery.',
    ],
    [
      'disableInstancesInDiscovery',
      'Disable instances in discovery',
      'Ends the traffic of the service discovery to instances.',
    ],
  ].map(([type = '', label = '', description = '']) =>
    instances.task(type, label, description, [
      ...instanceFields,
      ...(type.includes('LoadBalancer') ? [balancers] : []),
    ]),
  ),
  traffic.task(
    'upsertLoadBalancer',
    'Create or change a load balancer',
    `Creates a load balancer or changes it. ${passedOn}`,
    [
      ...accountFields,
      optional(places),
      text('name', 'Its name.', { otherNames: ['loadBalancerName'] }),
      objects('listeners', 'Ports and protocols.', listenerFields),
      json(
        'healthCheck',
        'How instances are checked. On this machine: a protocol, a port and a path, as in HTTP:8080/health.',
      ),
      number('healthInterval', 'Seconds between two checks.', { default: 10 }),
      textListField('securityGroups', 'Its security groups.', { choicesFrom: 'security-groups' }),
    ],
  ),
  traffic.pipeline(
    'upsertLoadBalancers',
    'Create or change load balancers',
    'Creates or changes several load balancers.',
    [
      optional(provider),
      optional(account),
      objects('loadBalancers', `Each as in upsertLoadBalancer. ${passedOn}`),
    ],
  ),
  traffic.both(
    'deleteLoadBalancer',
    'Delete a load balancer',
    'Deletes a load balancer that no server group uses.',
    [
      ...placeFields,
      text('loadBalancerName', 'Its name.', {
        required: true,
        otherNames: ['name'],
        choicesFrom: 'load-balancers',
      }),
    ],
  ),
  ...[
    ['mapLoadBalancers', 'Connect load balancers', 'Connects a server group with load balancers.'],
    [
      'unmapLoadBalancers',
      'Disconnect load balancers',
      'Disconnects a server group from load balancers.',
    ],
  ].map(([type = '', label = '', description = '']) =>
    traffic.task(type, label, description, [
      ...placeFields,
      serverGroup,
      textListField('loadBalancers', 'Their names.', { choicesFrom: 'load-balancers' }),
    ]),
  ),
  traffic.task(
    'upsertSecurityGroup',
    'Create or change a security group',
    `Creates a security group or changes its rules. ${passedOn}`,
    [
      ...placeFields,
      text('name', 'Its name.', { required: true, otherNames: ['securityGroupName'] }),
      text('description', 'For readers.', { required: true }),
      objects('ipIngress', 'Rules with addresses and ports.', [cidr, ...portFields]),
      objects('securityGroupIngress', 'Rules with other security groups.', [
        text('name', 'The other one.', { choicesFrom: 'security-groups' }),
        ...portFields,
      ]),
    ],
  ),
  traffic.task(
    'deleteVolumes',
    'Delete volumes',
    'Deletes the volumes of a cluster that runs nothing, with their backups.',
    [...placeFields, text('cluster', 'The cluster.', { required: true })],
  ),
  traffic.task(
    'deleteSecurityGroup',
    'Delete a security group',
    'Deletes a security group that no server group uses.',
    [
      ...placeFields,
      text('securityGroupName', 'Its name.', {
        required: true,
        otherNames: ['name'],
        choicesFrom: 'security-groups',
      }),
    ],
  ),
  traffic.task(
    'updateSecurityGroupsForServerGroup',
    'Change the security groups of a server group',
    'Gives a server group other security groups.',
    [
      ...placeFields,
      serverGroup,
      textListField('securityGroups', 'Their names.', { choicesFrom: 'security-groups' }),
    ],
  ),
  images.pipeline('bake', 'Bake', 'Bakes an image in each region, and hands it to later stages.', [
    { ...optional(provider), help: 'The provider of the image; unless given, the bakery decides.' },
    { ...optional(places), default: ['global'] },
    text('package', 'Packages to install, separated by blanks.'),
    text('baseOs', 'The base image.', { choicesFrom: 'base-images' }),
    ...[
      [
        'baseLabel',
        'Label of the base image: release, candidate, previous, unstable or foundation.',
      ],
      ['baseAmi', 'A base image by its id.'],
      ['baseName', 'A base image by its name.'],
      ['vmType', 'Type of the virtual machine.'],
      ['storeType', 'Where the image is stored.'],
      ['amiName', 'Name of the image.'],
      ['amiSuffix', 'End of the name of the image.'],
      ['enhancedNetworking', 'Whether the image has enhanced networking.'],
      ['instanceType', 'Type of the machine that bakes.'],
      ['accountName', 'The account.'],
      ['organization', 'Organization of the packages.'],
      ['templateFileName', 'The template.'],
      ['varFileName', 'A file with values for the template.'],
      ['publisher', 'Publisher of the base image.'],
      ['offer', 'Offer of the base image.'],
      ['sku', 'Edition of the base image.'],
      ['osType', 'Operating system.'],
      ['packageType', 'Kind of the packages.'],
      ['customManagedImageName', 'Base image by the name of a managed one.'],
      ['buildHost', 'Build server of the package.'],
      ['job', 'Build job of the package.'],
      ['buildNumber', 'Number of the build.'],
      ['commitHash', 'Commit of the build.'],
      ['buildInfoUrl', 'Address of the build.'],
      ['user', 'User of the bake; unless given, that of the execution.'],
    ].map(([name = '', help = '']) => text(name, help)),
    flag('upgrade', 'Brings installed packages up to date.'),
    map('extendedAttributes', 'Values for the template.'),
    textListField('packageArtifactIds', 'Artifacts to install.', { choicesFrom: 'artifacts' }),
    objects('packageArtifacts', 'Further artifacts to install.'),
    flag('rebake', 'Bakes even if an equal image exists.'),
  ]),
  ...[
    ['findImage', 'Find an image'],
    ['findImageFromCluster', 'Find the image of a cluster'],
    ['findAmi', 'Find the image of a cluster (older name)'],
  ].map(([type = '', label = '']) =>
    images.pipeline(
      type,
      label,
      'Finds the image that a cluster runs, for later stages.',
      findImageFields,
    ),
  ),
  findImageByTags,
  images.both('upsertImageTags', 'Tag images', 'Adds tags to images.', [
    ...accountFields,
    optional(places),
    textListField('imageNames', 'The images.', {
      choicesFrom: 'images',
      otherNames: ['imageName'],
    }),
    map('tags', 'The tags.'),
  ]),
  images.task('deleteImage', 'Delete images', 'Deletes images that no server group uses.', [
    ...accountFields,
    optional(places),
    textListField('imageIds', 'The images.', { choicesFrom: 'images' }),
  ]),
  jobs.both('runJob', 'Run a job', `Runs a program to its end. ${passedOn}`, [
    ...placeFields,
    applicationField,
    text('imageId', 'The image.', { choicesFrom: 'images' }),
    json('command', 'The command, as a text or a list.'),
    map('env', 'On this machine: environment variables.'),
    propertyFile,
    waitsForCompletion,
  ]),
  jobs.pipeline(
    'runCommand',
    'Run a command',
    'Runs a command on this machine. Only where bakes may run commands.',
    [
      { ...optional(account), default: standalone.account },
      { ...optional(places), default: [standalone.region] },
      json('command', 'The command, as a text or a list.'),
      map('env', 'Environment variables.'),
      propertyFile,
      waitsForCompletion,
    ],
  ),
  jobs.task('destroyJob', 'Destroy a job', 'Stops a job and removes it.', [
    ...placeFields,
    applicationField,
    jobName,
  ]),
  ...[
    ['saveSnapshot', 'Save a snapshot', 'Saves what is deployed of an application.'],
    ['restoreSnapshot', 'Restore a snapshot', 'Brings back what a snapshot holds.'],
    ['deleteSnapshot', 'Delete a snapshot', 'Deletes a snapshot.'],
  ].map(([type = '', label = '', description = '']) =>
    records.task(type, label, description, [
      ...accountFields,
      text('applicationName', 'The application.', {
        choicesFrom: 'applications',
        otherNames: ['application'],
      }),
      ...(type === 'saveSnapshot'
        ? []
        : [moment('snapshotTimestamp', 'When the snapshot was saved.')]),
    ]),
  ),
  ...[
    ['upsertScalingPolicy', 'Create or change a scaling policy'],
    ['deleteScalingPolicy', 'Delete a scaling policy'],
    ['upsertServerGroupTags', 'Tag a server group'],
  ].map(([type = '', label = '']) =>
    serverGroups.task(
      type,
      label,
      `${label}, where the provider can. All fields go to the provider as they are.`,
      [...placeFields, serverGroup],
    ),
  ),
  ...[
    ['upsertEntityTags', 'Tag a resource'],
    ['deleteEntityTags', 'Delete tags of a resource'],
    ['bulkUpsertEntityTags', 'Tag resources'],
  ].map(([type = '', label = '']) =>
    records.task(type, label, `${label}, such as a server group, with notes for readers.`, [
      object('entityRef', 'The resource: entityType, entityId, account, region and cloudProvider.'),
      json('tags', 'The tags.'),
    ]),
  ),
]
