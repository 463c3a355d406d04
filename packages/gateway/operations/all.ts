/** Every operation of the public API, by subject, in the order of the documentation. */
import { createAccessOperations } from './access/explain-access.ts'
import type { Operation, Subject } from './operation.ts'
import { accountOperations } from './resources/accounts.ts'
import { apiTokenOperations } from './resources/api-tokens.ts'
import { appSourceOperations } from './resources/app-sources.ts'
import { applicationOperations, projectOperations } from './resources/applications.ts'
import { appOperations } from './resources/apps.ts'
import { auditOperations } from './resources/audit.ts'
import { adminOperations, authOperations, loginSessionOperations } from './resources/auth.ts'
import { buildOperations, integrationOperations } from './resources/builds.ts'
import { canaryOperations } from './resources/canaries.ts'
import { capabilityOperations } from './resources/capabilities.ts'
import { deliveryOperations } from './resources/delivery.ts'
import { deviceLoginOperations } from './resources/device-logins.ts'
import { entityTagOperations } from './resources/entity-tags.ts'
import { environmentOperations } from './resources/environments.ts'
import {
  executionOperations,
  executionStreamOperations,
  taskStreamOperations,
} from './resources/executions.ts'
import { expressionOperations } from './resources/expressions.ts'
import { findingOperations } from './resources/findings.ts'
import { formUserOperations } from './resources/form-users.ts'
import {
  artifactOperations,
  bakeryOperations,
  chartOperations,
  imageOperations,
} from './resources/images.ts'
import {
  ecsOperations,
  infrastructureOperations,
  searchOperations,
  snapshotOperations,
  storedDataOperations,
} from './resources/infrastructure.ts'
import {
  cleanupOperations,
  deliveryConfigOperations,
  managedApplicationOperations,
  managedOperations,
  managedResourceOperations,
} from './resources/managed.ts'
import { notificationOperations } from './resources/notifications.ts'
import { pipelineStartOperations } from './resources/pipeline-starts.ts'
import { orderOperations, pipelineOperations } from './resources/pipelines.ts'
import {
  bannerOperations,
  deckPluginOperations,
  outsideOperations,
  pluginOperations,
} from './resources/plugins.ts'
import { programOperations } from './resources/programs.ts'
import { releaseOperations } from './resources/releases.ts'
import { reviewOperations } from './resources/reviews.ts'
import { secretOperations } from './resources/secrets.ts'
import {
  loadBalancerOperations,
  networkOperations,
  securityGroupOperations,
} from './resources/security-groups.ts'
import {
  clusterOperations,
  instanceOperations,
  jobOperations,
  serverGroupOperations,
} from './resources/server-groups.ts'
import { strategyOperations } from './resources/strategies.ts'
import { doctorOperations, systemOperations } from './resources/system.ts'
import { taskOperations } from './resources/tasks.ts'
import { templateOperations } from './resources/templates.ts'
import {
  cronOperations,
  triggerEventOperations,
  webhookOperations,
} from './resources/trigger-events.ts'

const rows: readonly (readonly [
  name: string,
  description: string,
  operations: readonly Operation[],
])[] = [
  [
    'Applications',
    'Owners of pipelines, clusters and permissions. Tasks create, change and delete them.',
    [
      ...applicationOperations,
      ...environmentOperations,
      ...reviewOperations,
      ...releaseOperations,
      ...deliveryOperations,
    ],
  ],
  [
    'Apps',
    'What app files compile to, with the folders that images are built of, deployments, rollbacks and state of each environment.',
    [...appOperations, ...appSourceOperations],
  ],
  [
    'Pipelines',
    'Definitions of pipelines and of deployment strategies, with their revisions.',
    [...pipelineOperations, ...strategyOperations, ...orderOperations, ...findingOperations],
  ],
  [
    'Executions',
    'Runs of pipelines: start, follow, cancel, judge, and evaluate expressions against them.',
    [
      ...pipelineStartOperations,
      ...executionOperations,
      ...executionStreamOperations,
      ...expressionOperations,
    ],
  ],
  [
    'Tasks',
    'Work that belongs to no pipeline: changes of applications, projects and infrastructure.',
    [...taskOperations, ...taskStreamOperations],
  ],
  [
    'Projects',
    'Applications that are shown together, with their clusters and pipelines.',
    projectOperations,
  ],
  [
    'Server groups',
    'Clusters, server groups, their managers, and further reports of cloud providers.',
    [...clusterOperations, ...serverGroupOperations, ...infrastructureOperations],
  ],
  [
    'Instances and jobs',
    'Single instances with their health and console output, and jobs that run to an end.',
    [...instanceOperations, ...jobOperations, ...programOperations],
  ],
  ['Load balancers', 'Load balancers and the server groups behind them.', loadBalancerOperations],
  [
    'Security groups',
    'Security groups, also under their newer name of firewalls.',
    securityGroupOperations,
  ],
  ['Networks', 'Networks, subnets and instance types.', networkOperations],
  [
    'Images',
    'Machine and container images, the options and logs of bakes, and charts.',
    [...imageOperations, ...bakeryOperations, ...chartOperations],
  ],
  [
    'Builds',
    'Build servers, their jobs and builds.',
    [...buildOperations, ...integrationOperations],
  ],
  ['Artifacts', 'Results of builds that pipelines deploy.', artifactOperations],
  [
    'Accounts',
    'Accounts of cloud providers, and the definitions of those that can be changed at run time.',
    accountOperations,
  ],
  [
    'Search',
    'Finds applications, clusters, instances and other resources by a part of their name.',
    searchOperations,
  ],
  ['Snapshots', 'States of the infrastructure of an application.', snapshotOperations],
  [
    'Users',
    'The logged-in user, permissions and their reasons, login sessions, and the audit log.',
    [
      ...authOperations,
      ...createAccessOperations(() => allOperations),
      ...loginSessionOperations,
      ...formUserOperations,
      ...auditOperations,
      ...adminOperations,
    ],
  ],
  ['API tokens', 'Credentials of programs.', [...apiTokenOperations, ...deviceLoginOperations]],
  [
    'Triggers',
    'Events from outside, timers, notifications, and what stages and expressions may use.',
    [
      ...webhookOperations,
      ...triggerEventOperations,
      ...cronOperations,
      ...notificationOperations,
      ...capabilityOperations,
    ],
  ],
  [
    'Secrets',
    'Values that pipelines, builds and programs use by reference, and no operation returns.',
    secretOperations,
  ],
  ['Templates', 'Pipeline templates of versions 1 and 2.', templateOperations],
  ['Tags', 'Tags of entities such as server groups.', entityTagOperations],
  ['Canaries', 'Canary configurations and analyses.', canaryOperations],
  [
    'Managed delivery',
    'Delivery configurations, environments and managed resources, and the clean-up of unused resources.',
    [
      ...managedApplicationOperations,
      ...managedResourceOperations,
      ...managedOperations,
      ...deliveryConfigOperations,
      ...cleanupOperations,
    ],
  ],
  [
    'Cloud extras',
    'ECS, service brokers, and data that operators store.',
    [...ecsOperations, ...storedDataOperations],
  ],
  [
    'Gateway',
    'Fairlead itself: version, health, metrics, the API document, plugins, and what the web UI asks for at its start.',
    [
      ...systemOperations,
      ...doctorOperations,
      ...pluginOperations,
      ...deckPluginOperations,
      ...bannerOperations,
      ...outsideOperations,
    ],
  ],
]

export const subjects: readonly Subject[] = rows.map(([name, description, operations]) => ({
  name,
  description,
  operations,
}))

export const allOperations: readonly Operation[] = subjects.flatMap(({ operations }) => operations)
