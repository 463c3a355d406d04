/** The user of a run that was not started by hand. docs/contracts/events.md#user-of-a-run. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { readPipeline, readTrigger } from '@fairlead/model/pipelines/definition.ts'
import type { Access } from '@fairlead/ports/access.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { loadAccess } from '@fairlead/ports/rights/access.ts'
import { automaticUserOf } from '@fairlead/ports/rights/automatic-user.ts'
import { isTriggerHeld } from '../pipelines/held-triggers.ts'

interface TriggerIdentity {
  /** Headers with which the orchestrator is asked. */
  identity: Record<string, string>
  user: string
  access: Access
  /** The trigger waits for a user who may use its service account. */
  isHeld: boolean
}

/**
 * With authorization the trigger's `runAsUser`, else the automatic user of the pipeline; otherwise none.
 *
 * @param load `requireAccess` for events whose sender can send them again, else `loadAccess`
 */
export async function toIdentity(
  load: typeof loadAccess,
  context: BackendContext,
  pipeline: JsonObject,
  trigger: JsonObject,
): Promise<TriggerIdentity> {
  const runAsUser =
    context.settings.authorization === true ? readTrigger(trigger).runAsUser?.trim() : undefined
  const user = runAsUser || (await automaticUserOf(context, pipeline))
  const access = await load(context, user)
  const identity: Record<string, string> = {
    'x-spinnaker-user': user,
    'x-spinnaker-application': readPipeline(pipeline).application ?? '',
  }
  if (access.accounts.length > 0) identity['x-spinnaker-accounts'] = access.accounts.join(',')
  const isHeld = isTriggerHeld(context.ports.definitions, pipeline, runAsUser)
  return { identity, user, access, isHeld }
}

/** Why the user of a trigger may not start the pipeline, as a sentence. */
export function describeForbiddenStart(
  { user, access, isHeld }: TriggerIdentity,
  pipeline: JsonObject,
): string | undefined {
  if (isHeld)
    return `The trigger is held back: the user who saved it could not use the service account "${user}". A user who may releases it.`
  const { application = '' } = readPipeline(pipeline)
  if (access.mayOnApplication(application, 'EXECUTE')) return undefined
  return `The user "${user}" may not execute pipelines of ${application}. Set a user of the trigger who may, or grant it.`
}
