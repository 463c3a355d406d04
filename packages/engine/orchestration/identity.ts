/** Users for whom a stage acts, and who steered its run (docs/contracts/orchestration.md#identity-of-a-run). */
import { isTrue } from '@fairlead/base/json/values.ts'
import { joinUsers, usersOf } from '@fairlead/base/names/acting-users.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { anonymous } from '@fairlead/ports/caller.ts'
import { graphOf } from './machine/graph.ts'
import type { Execution, ExecutionPlace, Identity, Stage } from './model.ts'
import { typeNameOf } from './stages/stage-type.ts'

/** Notes that a user other than the starter has decided what a run does, or when. From now on it acts for that user, too. */
export function steer(
  { authentication }: Execution,
  { user, allowedAccounts }: Identity,
  how: string,
  at: number,
): void {
  if (toUserKey(user) === toUserKey(authentication.user || anonymous)) return
  const others = (authentication.steeredBy ?? []).filter((each) => each.user !== user)
  authentication.steeredBy = [...others, { user, allowedAccounts, at, how }]
}

/** What another run has contributed, its steerers have contributed. */
export function inheritSteerers(execution: Execution, from: Execution): void {
  const known = new Set(execution.authentication.steeredBy?.map(({ user }) => user))
  const added = (from.authentication.steeredBy ?? []).filter(({ user }) => !known.has(user))
  for (const { at, how, ...by } of added) steer(execution, by, how, at)
}

/**
 * All for whom a stage acts: the starter, the users who continued a judgment before it that passes their identity on, and those
 * who steered the run. It may do what each of them may do.
 */
export function identitiesOf(place: ExecutionPlace): Identity[] {
  const { user, allowedAccounts, steeredBy = [] } = place.execution.authentication
  // A version that noted steering at stages has begun the run.
  const changed = place.execution.stages.flatMap(({ engine }) => engine.changedBy ?? [])
  const judges = judgmentsBefore(place).flatMap(({ lastModified }) => lastModified ?? [])
  const starter = { user: user || anonymous, allowedAccounts }
  // Such a judgment is how a user takes over what an event has started.
  const isTakenOver = starter.user === anonymous && judges.length > 0
  const authors = place.stage?.engine.heldFor ?? []
  return [
    ...(isTakenOver ? [] : [starter]),
    ...judges.reverse(),
    ...changed,
    ...steeredBy,
    ...authors,
  ]
}

/** Their names as one, for checks and for calls. */
export function actingUsers(place: ExecutionPlace): string {
  return joinUsers(identitiesOf(place).map(({ user }) => user))
}

/** The user of the nearest such judgment, else the starter; with those who steered the run. */
export function currentUser({ execution, stage }: ExecutionPlace): string {
  const { user, steeredBy = [] } = execution.authentication
  const judge = judgmentsBefore({ execution, stage })[0]?.lastModified?.user
  return joinUsers([judge ?? (user || anonymous), ...steeredBy.map((each) => each.user)])
}

/** The nearest first. */
function judgmentsBefore({ execution, stage }: ExecutionPlace): Stage[] {
  const before = stage === undefined ? [] : graphOf(execution).ancestorsOf(stage)
  return before.filter(
    (each) =>
      typeNameOf(each) === 'manualJudgment' &&
      each.status === 'SUCCEEDED' &&
      each.lastModified !== undefined &&
      isTrue(each.context['propagateAuthenticationContext']),
  )
}

/** @param users Those whose rights count, where the others may use the service account of the first */
export function identityHeaders(
  place: ExecutionPlace,
  users?: readonly string[],
): Record<string, string> {
  const { execution } = place
  const identities = identitiesOf(place)
  const counting = identities.filter(({ user }) => users === undefined || users.includes(user))
  return {
    ...execution.engine.headers,
    'x-spinnaker-accounts': commonAccounts(counting).join(','),
    'x-spinnaker-execution-id': execution.id,
    'x-spinnaker-execution-type': execution.type.toLowerCase(),
    'x-spinnaker-application': execution.application,
    // Without a user a call would pass for one of the engine itself.
    'x-spinnaker-user': joinUsers(identities.map(({ user }) => user)),
  }
}

function commonAccounts([first, ...others]: readonly Identity[]): string[] {
  const accounts = first?.allowedAccounts ?? []
  return accounts.filter((account) =>
    others.every(({ allowedAccounts }) => allowedAccounts.includes(account)),
  )
}

/** The identity of a run that acts for these users: the first has started it, the others have steered what did. */
export function authenticationOf(
  users: string | undefined,
  allowedAccounts: string[],
  at: number,
): Execution['authentication'] {
  const [user, ...others] = users === undefined ? [] : usersOf(users)
  const steeredBy = others.map((each) => ({
    user: each,
    allowedAccounts,
    at,
    how: 'steered the run that started this one',
  }))
  return { user, allowedAccounts, ...(steeredBy.length > 0 && { steeredBy }) }
}
