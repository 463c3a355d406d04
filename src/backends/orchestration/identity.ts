/** User in whose name a stage acts (docs/contracts/orchestration.md#identity-of-a-run). */
import { isTrue } from '../../json/values.ts'
import { graphOf } from './machine/graph.ts'
import type { ExecutionPlace } from './model.ts'
import { typeNameOf } from './stages/stage-type.ts'

export interface Identity {
  user: string | undefined
  allowedAccounts: string[]
}

/**
 * The user of the execution, or of the nearest judgment before the stage that passes its own on. A stage that a user has
 * changed acts for that user: with the rights of another, a change would borrow them.
 */
export function executionIdentityOf({ execution, stage }: ExecutionPlace): Identity {
  const graph = graphOf(execution)
  // Synthetic stages follow the stage that they belong to.
  const changed = stage && graph.upwardsFrom(stage).find(({ engine }) => engine.changedBy !== undefined)
  if (changed?.engine.changedBy !== undefined) return changed.engine.changedBy
  const before = stage === undefined ? [] : graph.ancestorsOf(stage)
  const judgment = before.find(
    (each) =>
      typeNameOf(each) === 'manualJudgment' &&
      each.status === 'SUCCEEDED' &&
      each.lastModified !== undefined &&
      isTrue(each.context['propagateAuthenticationContext']),
  )
  const { user, allowedAccounts } = judgment?.lastModified ?? execution.authentication
  return { user, allowedAccounts }
}

export function identityHeaders(place: ExecutionPlace): Record<string, string> {
  const { execution } = place
  const { user, allowedAccounts } = executionIdentityOf(place)
  return {
    ...execution.engine.headers,
    'x-spinnaker-accounts': allowedAccounts.join(','),
    'x-spinnaker-execution-id': execution.id,
    'x-spinnaker-execution-type': execution.type.toLowerCase(),
    'x-spinnaker-application': execution.application,
    // Without a user a call would pass for one of the engine itself.
    'x-spinnaker-user': user || 'anonymous',
  }
}
