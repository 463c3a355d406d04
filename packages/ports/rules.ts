/** Rules of the methods of a port, for all implementations. */
import type { ServiceName } from '@fairlead/base/services/services.ts'

export interface PortRules<Port> {
  /** Service whose contract it has, for messages. */
  readonly service: ServiceName
  /** Methods that change something: previews of tasks do not call them. */
  readonly changes: readonly (keyof Port)[]
  /** Methods whose first argument may hold references to secrets. */
  readonly holdsSecrets: readonly (keyof Port)[]
  /** Methods that would have their effect twice if they were repeated after a fault of the network. */
  readonly once: readonly (keyof Port)[]
}
