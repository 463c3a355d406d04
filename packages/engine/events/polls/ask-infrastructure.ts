/** Reads of the infrastructure for triggers. */

import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { VersionReads } from '@fairlead/ports/infrastructure.ts'

/** Accounts, their credentials and the restrictions of addresses are those of the infrastructure. @throws {Error} */
export function versionReads({ ports }: BackendContext): VersionReads {
  const { versions } = ports.infrastructure
  if (versions === undefined)
    throw new Error('Only the embedded infrastructure service reads versions for triggers.')
  return versions
}
