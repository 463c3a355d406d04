/** The environments of a promotion, and what they run of the application. */

import { maybe, or, type Reader, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { type Accounts, toAccounts } from '@fairlead/model/environments/accounts.ts'
import type { Environment } from '@fairlead/model/environments/declaration.ts'
import { environmentsOf } from '@fairlead/model/environments/derivation.ts'
import {
  type Group,
  type Running,
  type RunningCluster,
  runningIn,
  summaryOf,
} from '@fairlead/model/environments/running.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { promote } from '@fairlead/model/stage-types/verification.ts'
import { StageError } from '../../machine/failure.ts'
import type { StagePlace } from '../../model.ts'
import type { TaskContext } from '../stage-type.ts'

export interface PromotionPlaces {
  readonly from: Environment
  readonly to: Environment
  /** Stored pipelines of the application. */
  readonly pipelines: readonly JsonObject[]
  readonly accounts: Accounts
  /** Its server groups. */
  readonly groups: readonly Group[]
}

/** What the author of the stage has set. */
export function promotionSettingsOf({ execution, stage }: StagePlace) {
  const { application = execution.application, ...settings } = readFields(
    promote.fields,
    stage.context,
  )
  return { ...settings, application }
}

const toEnvironment: Reader<Environment> = shape({
  name: or(textOf, ''),
  accounts: textsOf,
  regions: maybe(textsOf),
  clusters: maybe(textsOf),
  constraints: () => [],
})

/** Note of an inner stage that waits until what the environment runs has run there for some time. */
export const toSoak = shape({
  from: toEnvironment,
  images: textsOf,
  clusters: textsOf,
  minutes: or(numberOf, 0),
})
export type Soak = ShapeOf<typeof toSoak>

/** @throws {StageError} for an environment that the application does not have */
export async function loadPlaces(context: TaskContext): Promise<PromotionPlaces> {
  const { application } = promotionSettingsOf(context)
  const [attributes, pipelines, accounts, groups] = await Promise.all([
    context.definitions.application(application),
    context.definitions.pipelinesOf(application),
    context.infrastructure.accounts(),
    loadGroups(context),
  ])
  const used = groups.map(({ account }) => account)
  const { list, problem } = environmentsOf(attributes?.environments, {
    accounts,
    pipelines,
    used,
  })
  if (problem !== undefined) throw new StageError([problem])
  const { from, to } = chosen(list, context)
  return { from, to, pipelines, groups, accounts: toAccounts(accounts) }
}

/** The one before `to`, unless the stage names another. */
function chosen(
  list: readonly Environment[],
  place: StagePlace,
): Pick<PromotionPlaces, 'from' | 'to'> {
  const { from: fromName, to: toName } = promotionSettingsOf(place)
  if (toName === undefined)
    throw new StageError([
      'The stage names no environment: set "to" to the one that the version is promoted to.',
    ])
  const to = environmentNamed(list, toName)
  const from =
    fromName === undefined ? list[list.indexOf(to) - 1] : environmentNamed(list, fromName)
  if (from === undefined) {
    throw new StageError([
      `${to.name} is the first environment, so nothing is promoted to it: set "from", or another "to".`,
    ])
  }
  if (from === to) throw new StageError([`"from" and "to" are the same environment, ${to.name}.`])
  return { from, to }
}

function environmentNamed(list: readonly Environment[], name: string): Environment {
  const found = list.find((each) => foldName(each.name) === foldName(name))
  if (found !== undefined) return found
  const known = list.map((each) => each.name).join(', ')
  throw new StageError([`There is no environment "${name}"; the application has ${known}.`])
}

async function loadGroups(context: TaskContext): Promise<Group[]> {
  return context.infrastructure.serverGroups(promotionSettingsOf(context).application)
}

export async function loadRunning(
  context: TaskContext,
  environment: Environment,
): Promise<Running> {
  return runningIn(environment, await loadGroups(context))
}

/** @param named Of clusters; without any, all that serve, apart from canaries */
export function chosenClusters(running: Running, named: readonly string[]): Running {
  const isChosen = ({ cluster, isCanary }: RunningCluster) =>
    named.length === 0 ? !isCanary : named.includes(cluster)
  return summaryOf(
    running.clusters.filter((each) => each.health.state !== 'disabled' && isChosen(each)),
  )
}
