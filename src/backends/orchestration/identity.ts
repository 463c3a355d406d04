/** In whose name a stage acts (orchestration contract, 1.2). */
import { isTrue } from '../../json/values.ts'
import { ancestorsOf, parentOf } from './machine/graph.ts'
import type { Execution, Stage } from './model.ts'
import { typeNameOf } from './stages/stage-type.ts'

export interface Identity {
  user: string | undefined
  allowedAccounts: string[]
}

/**
 * The user of the execution, or of the nearest judgment before the stage that hands its own over. Whoever changed what a stage
 * does is who it acts for: with the rights of another, a change would be a way to borrow them.
 */
export function identityOf(execution: Execution, stage: Stage | undefined): Identity {
  const changed = changerOf(execution, stage)
  if (changed !== undefined) return changed
  const judgment =
    stage === undefined
      ? undefined
      : ancestorsOf(execution, stage).find(
          (each) =>
            typeNameOf(each) === 'manualJudgment' &&
            each.status === 'SUCCEEDED' &&
            each.lastModified !== undefined &&
            isTrue(each.context['propagateAuthenticationContext']),
        )
  if (judgment?.lastModified !== undefined) {
    return { user: judgment.lastModified.user, allowedAccounts: judgment.lastModified.allowedAccounts }
  }
  return { user: execution.authentication.user, allowedAccounts: execution.authentication.allowedAccounts }
}

/** Synthetic stages follow the stage that they belong to. */
function changerOf(execution: Execution, stage: Stage | undefined): Identity | undefined {
  for (let each = stage; each !== undefined; each = parentOf(execution, each)) {
    if (each.engine.changedBy !== undefined) return each.engine.changedBy
  }
  return undefined
}

export function identityHeaders(execution: Execution, stage?: Stage): Record<string, string> {
  const { user, allowedAccounts } = identityOf(execution, stage)
  const headers: Record<string, string> = {
    ...execution.engine.headers,
    'x-spinnaker-accounts': allowedAccounts.join(','),
    'x-spinnaker-execution-id': execution.id,
    'x-spinnaker-execution-type': execution.type.toLowerCase(),
    'x-spinnaker-application': execution.application,
  }
  // Without a user a call would pass for one of the engine itself.
  headers['x-spinnaker-user'] = user || 'anonymous'
  return headers
}
