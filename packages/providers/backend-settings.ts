/** Settings that the providers find in their context. */
import type { BakerySettings } from './bakery/settings.ts'
import type { InfrastructureSettings } from './infrastructure/settings.ts'

declare module '@fairlead/ports/backend.ts' {
  interface BackendSettings {
    /** Accounts that can be deployed to. Default: none. */
    readonly infrastructure?: InfrastructureSettings
    /** Bakes, and whether users may run commands on this machine. Default: they may not. */
    readonly bakery?: BakerySettings
  }
}
