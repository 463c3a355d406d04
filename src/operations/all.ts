/** Every operation of the public API, by subject, in the order of the documentation. */

import { createAccessOperations } from './access/explain-access.ts'
import type { Operation, Subject } from './operation.ts'
import { accountOperations } from './resources/accounts.ts'
import { adminOperations } from './resources/admin.ts'
import { apiTokenOperations } from './resources/api-tokens.ts'
import { applicationOperations } from './resources/applications.ts'
import { artifactOperations } from './resources/artifacts.ts'
import { auditOperations } from './resources/audit.ts'
import { authOperations } from './resources/auth.ts'
import { bakeryOperations } from './resources/bakery.ts'
import { bannerOperations } from './resources/banners.ts'
import { buildOperations } from './resources/builds.ts'
import { canaryOperations } from './resources/canaries.ts'
import { capabilityOperations } from './resources/capabilities.ts'
import { chartOperations } from './resources/charts.ts'
import { cleanupOperations } from './resources/cleanup.ts'
import { clusterOperations } from './resources/clusters.ts'
import { cronOperations } from './resources/cron.ts'
import { deckPluginOperations } from './resources/deck-plugins.ts'
import { orderOperations } from './resources/definition-order.ts'
import { deliveryConfigOperations } from './resources/delivery-configs.ts'
import { doctorOperations } from './resources/doctor.ts'
import { ecsOperations } from './resources/ecs.ts'
import { entityTagOperations } from './resources/entity-tags.ts'
import { executionStreamOperations, taskStreamOperations } from './resources/event-streams.ts'
import { executionOperations } from './resources/executions.ts'
import { expressionOperations } from './resources/expressions.ts'
import { formUserOperations } from './resources/form-users.ts'
import { imageOperations } from './resources/images.ts'
import { infrastructureOperations } from './resources/infrastructure.ts'
import { instanceOperations } from './resources/instances.ts'
import { integrationOperations } from './resources/integrations.ts'
import { jobOperations } from './resources/jobs.ts'
import { loadBalancerOperations } from './resources/load-balancers.ts'
import { loginSessionOperations } from './resources/login-sessions.ts'
import { managedOperations } from './resources/managed.ts'
import { managedApplicationOperations } from './resources/managed-applications.ts'
import { managedResourceOperations } from './resources/managed-resources.ts'
import { networkOperations } from './resources/networks.ts'
import { notificationOperations } from './resources/notifications.ts'
import { outsideOperations } from './resources/outside-services.ts'
import { pipelineStartOperations } from './resources/pipeline-starts.ts'
import { pipelineOperations } from './resources/pipelines.ts'
import { pluginOperations } from './resources/plugins.ts'
import { projectOperations } from './resources/projects.ts'
import { searchOperations } from './resources/search.ts'
import { securityGroupOperations } from './resources/security-groups.ts'
import { serverGroupOperations } from './resources/server-groups.ts'
import { snapshotOperations } from './resources/snapshots.ts'
import { storedDataOperations } from './resources/stored-data.ts'
import { strategyOperations } from './resources/strategies.ts'
import { systemOperations } from './resources/system.ts'
import { taskOperations } from './resources/tasks.ts'
import { templateOperations } from './resources/templates.ts'
import { webhookOperations } from './resources/webhooks.ts'

export const subjects: readonly Subject[] = [
  {
    name: 'Applications',
    description: 'Owners of pipelines, clusters and permissions. Tasks create, change and delete them.',
    operations: applicationOperations,
  },
  {
    name: 'Pipelines',
    description: 'Definitions of pipelines and of deployment strategies, with their revisions.',
    operations: [...pipelineOperations, ...strategyOperations, ...orderOperations],
  },
  {
    name: 'Executions',
    description: 'Runs of pipelines: start, follow, cancel, judge, and evaluate expressions against them.',
    operations: [...pipelineStartOperations, ...executionOperations, ...executionStreamOperations, ...expressionOperations],
  },
  {
    name: 'Tasks',
    description: 'Work that belongs to no pipeline: changes of applications, projects and infrastructure.',
    operations: [...taskOperations, ...taskStreamOperations],
  },
  {
    name: 'Projects',
    description: 'Applications that are shown together, with their clusters and pipelines.',
    operations: projectOperations,
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
    operations: securityGroupOperations,
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
    operations: [...buildOperations, ...integrationOperations],
  },
  {
    name: 'Artifacts',
    description: 'Results of builds that pipelines deploy.',
    operations: artifactOperations,
  },
  {
    name: 'Accounts',
    description: 'Accounts of cloud providers, and the definitions of those that can be changed at run time.',
    operations: accountOperations,
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
      ...formUserOperations,
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
    operations: canaryOperations,
  },
  {
    name: 'Managed delivery',
    description: 'Delivery configurations, environments and managed resources, and the clean-up of unused resources.',
    operations: [
      ...managedApplicationOperations,
      ...managedResourceOperations,
      ...managedOperations,
      ...deliveryConfigOperations,
      ...cleanupOperations,
    ],
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
    operations: [
      ...systemOperations,
      ...doctorOperations,
      ...pluginOperations,
      ...deckPluginOperations,
      ...bannerOperations,
      ...outsideOperations,
    ],
  },
]

export const allOperations: readonly Operation[] = subjects.flatMap(({ operations }) => operations)
