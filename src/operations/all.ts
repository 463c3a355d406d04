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
import { cleanupOperations } from './resources/cleanup.ts'
import { ecsOperations, storedDataOperations } from './resources/cloud-extras.ts'
import { clusterOperations } from './resources/clusters.ts'
import { cronOperations } from './resources/cron.ts'
import { deliveryOperations } from './resources/delivery.ts'
import { deliveryConfigOperations } from './resources/delivery-configs.ts'
import { entityTagOperations } from './resources/entity-tags.ts'
import { environmentOperations } from './resources/environments.ts'
import { executionStreamOperations, taskStreamOperations } from './resources/event-streams.ts'
import { executionOperations } from './resources/executions.ts'
import { expressionOperations } from './resources/expressions.ts'
import { formUserOperations } from './resources/form-users.ts'
import { chartOperations, imageOperations } from './resources/images.ts'
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
import { orderOperations, pipelineOperations } from './resources/pipelines.ts'
import { deckPluginOperations, pluginOperations } from './resources/plugins.ts'
import { projectOperations } from './resources/projects.ts'
import { searchOperations } from './resources/search.ts'
import { secretOperations } from './resources/secrets.ts'
import { securityGroupOperations } from './resources/security-groups.ts'
import { serverGroupOperations } from './resources/server-groups.ts'
import { snapshotOperations } from './resources/snapshots.ts'
import { strategyOperations } from './resources/strategies.ts'
import { doctorOperations, systemOperations } from './resources/system.ts'
import { taskOperations } from './resources/tasks.ts'
import { templateOperations } from './resources/templates.ts'
import { triggerEventOperations } from './resources/trigger-events.ts'
import { webhookOperations } from './resources/webhooks.ts'

const rows: readonly (readonly [name: string, description: string, operations: readonly Operation[]])[] = [
  [
    'Applications',
    'Owners of pipelines, clusters and permissions. Tasks create, change and delete them.',
    [...applicationOperations, ...environmentOperations, ...deliveryOperations],
  ],
  [
    'Pipelines',
    'Definitions of pipelines and of deployment strategies, with their revisions.',
    [...pipelineOperations, ...strategyOperations, ...orderOperations],
  ],
  [
    'Executions',
    'Runs of pipelines: start, follow, cancel, judge, and evaluate expressions against them.',
    [...pipelineStartOperations, ...executionOperations, ...executionStreamOperations, ...expressionOperations],
  ],
  [
    'Tasks',
    'Work that belongs to no pipeline: changes of applications, projects and infrastructure.',
    [...taskOperations, ...taskStreamOperations],
  ],
  ['Projects', 'Applications that are shown together, with their clusters and pipelines.', projectOperations],
  [
    'Server groups',
    'Clusters, server groups, their managers, and further reports of cloud providers.',
    [...clusterOperations, ...serverGroupOperations, ...infrastructureOperations],
  ],
  [
    'Instances and jobs',
    'Single instances with their health and console output, and jobs that run to an end.',
    [...instanceOperations, ...jobOperations],
  ],
  ['Load balancers', 'Load balancers and the server groups behind them.', loadBalancerOperations],
  ['Security groups', 'Security groups, also under their newer name of firewalls.', securityGroupOperations],
  ['Networks', 'Networks, subnets and instance types.', networkOperations],
  [
    'Images',
    'Machine and container images, the options and logs of bakes, and charts.',
    [...imageOperations, ...bakeryOperations, ...chartOperations],
  ],
  ['Builds', 'Build servers, their jobs and builds.', [...buildOperations, ...integrationOperations]],
  ['Artifacts', 'Results of builds that pipelines deploy.', artifactOperations],
  ['Accounts', 'Accounts of cloud providers, and the definitions of those that can be changed at run time.', accountOperations],
  ['Search', 'Finds applications, clusters, instances and other resources by a part of their name.', searchOperations],
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
  ['API tokens', 'Credentials of programs.', apiTokenOperations],
  [
    'Triggers',
    'Events from outside, timers, notifications, and what stages and expressions may use.',
    [...webhookOperations, ...triggerEventOperations, ...cronOperations, ...notificationOperations, ...capabilityOperations],
  ],
  ['Secrets', 'Values that pipelines, builds and programs use by reference, and no operation returns.', secretOperations],
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
  ['Cloud extras', 'ECS, service brokers, and data that operators store.', [...ecsOperations, ...storedDataOperations]],
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

export const subjects: readonly Subject[] = rows.map(([name, description, operations]) => ({ name, description, operations }))

export const allOperations: readonly Operation[] = subjects.flatMap(({ operations }) => operations)
