/** Settings that the engine finds in its context. */
import type { CanarySettings } from './canaries/settings.ts'
import type { eventLogKeys } from './events/event-log-settings.ts'
import type { checkQuietPeriod } from './events/quiet-period.ts'
import type { triggerKeys } from './events/trigger-settings.ts'
import type { pipelineLimitKeys } from './limits.ts'
import type { NotificationServiceSettings } from './notifications/settings.ts'
import type { findingKeys } from './orchestration/findings/settings.ts'
import type { toManifestSettings } from './orchestration/settings.ts'
import type { scriptKeys } from './orchestration/stages/builds/settings.ts'
import type { PermissionServiceSettings } from './permissions/settings.ts'
import type { toRetentionSettings } from './retention/settings.ts'
import type { toSecretSettings } from './secrets/settings.ts'

declare module '@fairlead/ports/backend.ts' {
  interface BackendSettings {
    readonly quietPeriod: ReturnType<typeof checkQuietPeriod>
    readonly eventLog: ReturnType<typeof eventLogKeys.read>
    readonly triggers: ReturnType<typeof triggerKeys.read>
    readonly findings: ReturnType<typeof findingKeys.read>
    readonly limits: ReturnType<typeof pipelineLimitKeys.read>
    readonly retention: ReturnType<typeof toRetentionSettings>
    readonly manifests: ReturnType<typeof toManifestSettings>
    readonly secrets: ReturnType<typeof toSecretSettings>
    readonly script: ReturnType<typeof scriptKeys.read>
    readonly notifications: NotificationServiceSettings
    /** How the permission service decides. Default: as when nothing is set. */
    readonly permissions?: PermissionServiceSettings
    /** Metrics accounts of canary analysis. Default: those that need no settings. */
    readonly canaries?: CanarySettings
  }
}
