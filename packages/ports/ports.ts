/** Capabilities of each other, whether in this process or elsewhere. */
import type { Bakery } from './bakery.ts'
import type { Builds } from './builds.ts'
import type { Canaries } from './canaries.ts'
import type { StoredDefinitions } from './definitions.ts'
import type { Events } from './events.ts'
import type { Executions } from './executions.ts'
import type { Infrastructure } from './infrastructure.ts'
import type { Rights } from './rights.ts'
import type { SecretValues } from './secrets.ts'

export interface Ports {
  readonly bakery: Bakery
  readonly builds: Builds
  readonly canaries: Canaries
  readonly definitions: StoredDefinitions
  readonly events: Events
  readonly executions: Executions
  readonly infrastructure: Infrastructure
  readonly rights: Rights
  readonly secrets: SecretValues
}
