/** Executions that have not ended, and those of them that wait for the reader. */

import { textsOf } from '@fairlead/base/json/values.ts'
import { type Execution, isWaiting } from '../model/execution.ts'
import { type ReadParameters, type Refresh, useLive } from './live.ts'
import { judgeOperation, useAllowed } from './rights.ts'
import { user } from './session.ts'

export const searchPath = '/applications/{application}/executions/search'
export const activeStatuses = 'RUNNING,PAUSED,NOT_STARTED'

/** Searches in all applications. */
export function search(query: NonNullable<ReadParameters<typeof searchPath>['query']>) {
  return { path: { application: '*' }, query: { size: 100, expand: true, ...query } }
}

export const isAny = ({ length }: readonly unknown[]) => length > 0

/** What waits for the reader was often started by another user. */
export function useActiveExecutions(refresh: Refresh) {
  return useLive(searchPath, search({ statuses: activeStatuses }), { refresh, isBusy: isAny })
}

/** What the user may judge: it needs EXECUTE on the application besides a role of the judgment. Undefined while nothing is known. */
export function useWaiting(
  executions: readonly Execution[] | undefined,
): readonly Execution[] | undefined {
  const waiting = executions?.filter(({ stages }) =>
    stages.some((stage) => isWaiting(stage) && judgesOf(rolesToJudge(stage.context)) === undefined),
  )
  const mayJudge = useAllowed(judgeOperation, waiting?.map(({ application }) => application) ?? [])
  const own = waiting?.filter(({ application }) => mayJudge.get(application))
  return own?.length === 0 && waiting?.some(({ application }) => !mayJudge.has(application))
    ? undefined
    : own
}

/** Without any, all users who may execute the pipeline judge. */
export function rolesToJudge(context: Readonly<Record<string, unknown>>): readonly string[] {
  return textsOf(context['selectedStageRoles'] ?? context['requiredJudgmentRoles'])
}

/** Roles of which a judgment needs one, where the user has none of them. */
export function judgesOf(required: readonly string[]): readonly string[] | undefined {
  const roles = user.value?.roles ?? []
  const may =
    required.length === 0 ||
    user.value?.isAdmin === true ||
    required.some((role) => roles.includes(role))
  return may ? undefined : required
}
