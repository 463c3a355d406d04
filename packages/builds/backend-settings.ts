/** Settings that the builds find in their context. */
import type { buildServiceKeys } from './settings.ts'

declare module '@fairlead/ports/backend.ts' {
  interface BackendSettings {
    readonly builds: ReturnType<typeof buildServiceKeys.read>
  }
}
