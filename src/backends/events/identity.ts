/** The user of a run that was not started by hand. docs/contracts/events.md#user-of-a-run. */
import { type JsonObject, textOf } from '../../json/values.ts'
import type { BackendContext } from '../backend.ts'
import type { Access, loadAccess } from '../rights/access.ts'

interface TriggerIdentity {
  /** Headers with which the orchestrator is asked. */
  identity: Record<string, string>
  user: string
  access: Access
}

/**
 * With authorization the trigger's `runAsUser`; otherwise none.
 *
 * @param load `requireAccess` for events whose sender can send them again, else `loadAccess`
 */
export async function toIdentity(
  load: typeof loadAccess,
  context: BackendContext,
  pipeline: JsonObject,
  trigger: JsonObject,
): Promise<TriggerIdentity> {
  const runAsUser = context.settings.authorization === true ? textOf(trigger['runAsUser'])?.trim() : undefined
  const user = runAsUser || 'anonymous'
  const access = await load(context, user)
  const identity: Record<string, string> = {
    'x-spinnaker-user': user,
    'x-spinnaker-application': textOf(pipeline['application']) ?? '',
  }
  if (access.accounts.length > 0) identity['x-spinnaker-accounts'] = access.accounts.join(',')
  return { identity, user, access }
}
