/** Who may promote: all for whom a run acts, when it finds the version, and again when it deploys what others have steered meanwhile. */
import type { Environment } from '@fairlead/model/environments/declaration.ts'
import { describeMissingRole } from '@fairlead/model/environments/holds.ts'
import { StageError } from '../../machine/failure.ts'
import { mayJudge } from '../manual-judgment.ts'
import type { TaskContext } from '../stage-type.ts'

/** @throws {StageError} naming who may */
export async function checkMayPromote(
  { actors, viewOf, execution }: Pick<TaskContext, 'actors' | 'viewOf' | 'execution'>,
  to: Pick<Environment, 'name' | 'mayPromote'>,
): Promise<void> {
  for (const user of await actors()) {
    if (await mayJudge({ requiredJudgmentRoles: to.mayPromote ?? [] }, user, viewOf)) continue
    const isSteerer = execution.authentication.steeredBy?.some((each) => each.user === user)
    const advice = isSteerer ? [`${user} has steered this run; a new run does without.`] : []
    throw new StageError([describeMissingRole(to, user), ...advice], {
      status: 403,
      kind: 'PERMISSION',
    })
  }
}
