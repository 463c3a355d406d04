/** Reads of the infrastructure for triggers. */
import type { JsonObject } from '../../../json/values.ts'
import { toCaller } from '../../../ports/caller.ts'
import type { VersionReads } from '../../../ports/infrastructure.ts'
import type { BackendContext } from '../../backend.ts'

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
