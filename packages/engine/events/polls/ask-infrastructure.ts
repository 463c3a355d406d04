/** Reads of the infrastructure for triggers. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { toCaller } from '@fairlead/ports/caller.ts'
import type { VersionReads } from '@fairlead/ports/infrastructure.ts'

/**
 * Accounts, their credentials and the restrictions of addresses are those of the infrastructure.
 *
 * @throws {Error} with its message
 */
export async function askInfrastructure(
  { ports }: BackendContext,
  read: keyof VersionReads,
  wanted: JsonObject,
  signal?: AbortSignal,
): Promise<JsonObject> {
  const { versions } = ports.infrastructure
  if (versions === undefined) throw new Error('Only the embedded infrastructure service reads versions for triggers.')
  const found = await versions[read](wanted, toCaller({}))
  signal?.throwIfAborted()
  return found
}
