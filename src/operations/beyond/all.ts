/** Every operation that clients need although the specification does not list it. */
import type { Operation } from '../operation.ts'
import { accountOperations } from './accounts.ts'
import { adminOperations } from './admin.ts'
import { apiTokenOperations } from './api-tokens.ts'
import { artifactOperations } from './artifacts.ts'
import { auditOperations } from './audit.ts'
import { buildOperations } from './builds-v3.ts'
import { canaryOperations } from './canaries.ts'
import { capabilityOperations } from './capabilities.ts'
import { chartOperations } from './charts.ts'
import { cleanupOperations } from './cleanup.ts'
import { cronOperations } from './cron.ts'
import { definitionOperations } from './definitions.ts'
import { deliveryConfigOperations } from './delivery-configs.ts'
import { ecsOperations } from './ecs.ts'
import { entityTagOperations } from './entity-tags.ts'
import { executionOperations } from './executions.ts'
import { firewallOperations } from './firewalls.ts'
import { firstCanaryOperations } from './first-canaries.ts'
import { infrastructureOperations } from './infrastructure.ts'
import { integrationOperations } from './integrations.ts'
import { loginSessionOperations } from './login-sessions.ts'
import { managedOperations } from './managed.ts'
import { notificationOperations } from './notifications.ts'
import { pipelineV2Operations } from './pipelines-v2.ts'
import { pluginOperations } from './plugins.ts'
import { projectOperations } from './projects.ts'
import { quietOperations } from './quiet.ts'
import { storedDataOperations } from './stored-data.ts'
import { templateOperations } from './templates.ts'
import { versionOperations } from './version.ts'
import { webhookOperations } from './webhooks.ts'

export const beyondOperations: Operation[] = [
  ...versionOperations,
  ...pipelineV2Operations,
  ...definitionOperations,
  ...templateOperations,
  ...executionOperations,
  ...webhookOperations,
  ...notificationOperations,
  ...cronOperations,
  ...capabilityOperations,
  ...projectOperations,
  ...infrastructureOperations,
  ...firewallOperations,
  ...chartOperations,
  ...ecsOperations,
  ...storedDataOperations,
  ...accountOperations,
  ...buildOperations,
  ...artifactOperations,
  ...integrationOperations,
  ...entityTagOperations,
  ...canaryOperations,
  ...firstCanaryOperations,
  ...managedOperations,
  ...deliveryConfigOperations,
  ...cleanupOperations,
  ...pluginOperations,
  ...adminOperations,
  ...apiTokenOperations,
  ...loginSessionOperations,
  ...auditOperations,
  ...quietOperations,
]
