/** Whom a run that nobody started by hand acts as. Events contract, section 3.1. */
import { type Access, loadAccess } from '../access.ts'
import type { BackendContext } from '../backend.ts'
import { type JsonObject, textOf } from '../json-values.ts'

export interface TriggerIdentity {
  /** Headers with which the orchestrator is asked. */
  identity: Record<string, string>
  user: string
  access: Access
}

/** With authorization the trigger's `runAsUser`; otherwise nobody. */
export async function toIdentity(context: BackendContext, pipeline: JsonObject, trigger: JsonObject): Promise<TriggerIdentity> {
  const runAsUser = context.settings.authorization === true ? textOf(trigger['runAsUser'])?.trim() : undefined
  const user = runAsUser || 'anonymous'
  const access = await loadAccess(context, user)
  const identity: Record<string, string> = {
    'x-spinnaker-user': user,
    'x-spinnaker-application': textOf(pipeline['application']) ?? '',
  }
  if (access.accounts.length > 0) identity['x-spinnaker-accounts'] = access.accounts.join(',')
  return { identity, user, access }
}
