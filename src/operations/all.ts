/** Every operation of the public API, by subject, in the order of the documentation. */
import { applicationOperations } from './applications.ts'
import { authOperations } from './auth.ts'
import { bakeryOperations } from './bakery.ts'
import { accountOperations } from './beyond/accounts.ts'
import { adminOperations } from './beyond/admin.ts'
import { apiTokenOperations } from './beyond/api-tokens.ts'
import { artifactOperations } from './beyond/artifacts.ts'
import { auditOperations } from './beyond/audit.ts'
import { bannerOperations } from './beyond/banners.ts'
import { buildOperations as buildOperationsV3 } from './beyond/builds-v3.ts'
import { canaryOperations } from './beyond/canaries.ts'
import { capabilityOperations } from './beyond/capabilities.ts'
import { chartOperations } from './beyond/charts.ts'
import { cleanupOperations } from './beyond/cleanup.ts'
import { cronOperations } from './beyond/cron.ts'
import { definitionOperations } from './beyond/definitions.ts'
import { deliveryConfigOperations } from './beyond/delivery-configs.ts'
import { ecsOperations } from './beyond/ecs.ts'
import { entityTagOperations } from './beyond/entity-tags.ts'
import { executionOperations as executionSearchOperations } from './beyond/executions.ts'
import { firewallOperations } from './beyond/firewalls.ts'
import { firstCanaryOperations } from './beyond/first-canaries.ts'
import { infrastructureOperations } from './beyond/infrastructure.ts'
import { integrationOperations } from './beyond/integrations.ts'
import { loginSessionOperations } from './beyond/login-sessions.ts'
import { managedOperations } from './beyond/managed.ts'
import { notificationOperations } from './beyond/notifications.ts'
import { pipelineV2Operations } from './beyond/pipelines-v2.ts'
import { pluginOperations } from './beyond/plugins.ts'
import { projectOperations as storedProjectOperations } from './beyond/projects.ts'
import { quietOperations } from './beyond/quiet.ts'
import { storedDataOperations } from './beyond/stored-data.ts'
import { templateOperations } from './beyond/templates.ts'
import { versionOperations } from './beyond/version.ts'
import { webhookOperations } from './beyond/webhooks.ts'
import { buildOperations } from './builds.ts'
import { clusterOperations } from './clusters.ts'
import { credentialOperations } from './credentials.ts'
import { executionOperations } from './executions.ts'
import { createAccessOperations } from './explain-access.ts'
import { expressionOperations } from './expressions.ts'
import { imageOperations } from './images.ts'
import { instanceOperations } from './instances.ts'
import { jobOperations } from './jobs.ts'
import { loadBalancerOperations } from './load-balancers.ts'
import { networkOperations } from './networks.ts'
import type { Operation, Subject } from './operation.ts'
import { pipelineStartOperations } from './pipeline-starts.ts'
import { pipelineOperations } from './pipelines.ts'
import { projectOperations } from './projects.ts'
import { searchOperations } from './search.ts'
import { securityGroupOperations } from './security-groups.ts'
import { serverGroupOperations } from './server-groups.ts'
import { snapshotOperations } from './snapshots.ts'
import { strategyOperations } from './strategies.ts'
import { systemOperations } from './system.ts'
import { taskOperations } from './tasks.ts'

export const subjects: readonly Subject[] = [
  {
    name: 'Applications',
    description: 'Owners of pipelines, clusters and permissions. Tasks create, change and delete them.',
    operations: applicationOperations,
  },
  {
    name: 'Pipelines',
    description: 'Definitions of pipelines and of deployment strategies, with their revisions.',
    operations: [...pipelineOperations, ...strategyOperations, ...definitionOperations],
  },
  {
    name: 'Executions',
    description: 'Runs of pipelines: start, follow, cancel, judge, and evaluate expressions against them.',
    operations: [
      ...pipelineStartOperations,
      ...pipelineV2Operations,
      ...executionOperations,
      ...expressionOperations,
      ...executionSearchOperations,
    ],
  },
  {
    name: 'Tasks',
    description: 'Work that belongs to no pipeline: changes of applications, projects and infrastructure.',
    operations: taskOperations,
  },
  {
    name: 'Projects',
    description: 'Applications that are shown together, with their clusters and pipelines.',
    operations: [...projectOperations, ...storedProjectOperations],
  },
  {
    name: 'Server groups',
    description: 'Clusters, server groups, their managers, and further reports of cloud providers.',
    operations: [...clusterOperations, ...serverGroupOperations, ...infrastructureOperations],
  },
  {
    name: 'Instances and jobs',
    description: 'Single instances with their health and console output, and jobs that run to an end.',
    operations: [...instanceOperations, ...jobOperations],
  },
  {
    name: 'Load balancers',
    description: 'Load balancers and the server groups behind them.',
    operations: loadBalancerOperations,
  },
  {
    name: 'Security groups',
    description: 'Security groups, also under their newer name of firewalls.',
    operations: [...securityGroupOperations, ...firewallOperations],
  },
  {
    name: 'Networks',
    description: 'Networks, subnets and instance types.',
    operations: networkOperations,
  },
  {
    name: 'Images',
    description: 'Machine and container images, the options and logs of bakes, and charts.',
    operations: [...imageOperations, ...bakeryOperations, ...chartOperations],
  },
  {
    name: 'Builds',
    description: 'Build servers, their jobs and builds.',
    operations: [...buildOperations, ...buildOperationsV3, ...integrationOperations],
  },
  {
    name: 'Artifacts',
    description: 'Results of builds that pipelines deploy.',
    operations: artifactOperations,
  },
  {
    name: 'Accounts',
    description: 'Accounts of cloud providers, and the definitions of those that can be changed at run time.',
    operations: [...credentialOperations, ...accountOperations],
  },
  {
    name: 'Search',
    description: 'Finds applications, clusters, instances and other resources by a part of their name.',
    operations: searchOperations,
  },
  {
    name: 'Snapshots',
    description: 'States of the infrastructure of an application.',
    operations: snapshotOperations,
  },
  {
    name: 'Users',
    description: 'The logged-in user, permissions and their reasons, login sessions, and the audit log.',
    operations: [
      ...authOperations,
      ...createAccessOperations(() => allOperations),
      ...loginSessionOperations,
      ...auditOperations,
      ...adminOperations,
    ],
  },
  {
    name: 'API tokens',
    description: 'Credentials of programs.',
    operations: apiTokenOperations,
  },
  {
    name: 'Triggers',
    description: 'Events from outside, timers, notifications, and what stages and expressions may use.',
    operations: [...webhookOperations, ...cronOperations, ...notificationOperations, ...capabilityOperations],
  },
  {
    name: 'Templates',
    description: 'Pipeline templates of versions 1 and 2.',
    operations: templateOperations,
  },
  {
    name: 'Tags',
    description: 'Tags of entities such as server groups.',
    operations: entityTagOperations,
  },
  {
    name: 'Canaries',
    description: 'Canary configurations and analyses.',
    operations: [...canaryOperations, ...firstCanaryOperations],
  },
  {
    name: 'Managed delivery',
    description: 'Delivery configurations, environments and managed resources, and the clean-up of unused resources.',
    operations: [...managedOperations, ...deliveryConfigOperations, ...cleanupOperations],
  },
  {
    name: 'Cloud extras',
    description: 'ECS, service brokers, and data that operators store.',
    operations: [...ecsOperations, ...storedDataOperations],
  },
  {
    name: 'Gateway',
    description:
      'Fairlead itself: version, health, metrics, the API document, plugins, and what the web UI asks for at its start.',
    operations: [...versionOperations, ...systemOperations, ...pluginOperations, ...bannerOperations, ...quietOperations],
  },
]

export const allOperations: readonly Operation[] = subjects.flatMap(({ operations }) => operations)
