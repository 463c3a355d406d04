/** Capabilities of each other, whether in this process or elsewhere. */
import type { StoredDefinitions } from './definitions.ts'
import type { Rights } from './rights.ts'

export interface Ports {
  readonly definitions: StoredDefinitions
  readonly rights: Rights
}
