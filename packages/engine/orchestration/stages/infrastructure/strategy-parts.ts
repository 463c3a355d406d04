/** What deployment strategies are made of: where they work, what was there before, and stages of single server groups. */
import { definedOf, isTrue, type JsonObject, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { type CloudCapacity, toCapacity } from '@fairlead/ports/cloud-values.ts'
import type { Execution, Stage } from '../../model.ts'
import type { NewStage } from '../stage-type.ts'
import {
  cloudPlaceFields,
  createdClusterOf,
  placesOf,
  serverGroupNameOf,
  stageAccountOf,
  stageProviderOf,
} from './cloud-context.ts'

type Strategy = 'none' | 'highlander' | 'recreate' | 'redblack' | 'rollingredblack' | 'canary' | 'custom'

const known: ReadonlySet<string> = new Set<Strategy>([
  'highlander',
  'recreate',
  'redblack',
  'rollingredblack',
  'canary',
  'custom',
])

/** Key of the context for a strategy that the stage has chosen by itself. */
export const strategyKey = 'deploy.strategy'

/** Names compare without case; an unknown one behaves like none. */
export function strategyOf(context: JsonObject): Strategy {
  const name = (textOf(context[strategyKey]) ?? textOf(context['strategy']) ?? '').toLowerCase()
  return known.has(name) ? (name as Strategy) : 'none'
}

/** Server groups that stay unless told otherwise: the new one, and the one before it for a rollback. */
export const usualRemaining = 2

export interface StrategyPlace {
  readonly application: string
  readonly cluster: string
  /** What all stages have. */
  readonly common: JsonObject
}

export interface Source {
  readonly name: string
  readonly capacity: CloudCapacity
  readonly isDisabled: boolean
}

export function strategyPlaceOf({ context }: Pick<Stage, 'context'>, execution: Execution): StrategyPlace {
  const application = textOf(context['application']) ?? execution.application
  const account = stageAccountOf(context)
  const [region] = placesOf(context)
  const cluster = createdClusterOf(context, application)
  const { interestingHealthProviderNames } = context
  const place = cloudPlaceFields({ provider: stageProviderOf(context), account, region })
  return { application, cluster, common: { ...place, application, ...definedOf({ interestingHealthProviderNames }) } }
}

/** The server group that was there before, as it was when the deployment began. */
export function sourceOf({ context }: Stage): Source | undefined {
  const source = objectOf(context['source'])
  const name = serverGroupNameOf(source)
  if (name === undefined) return undefined
  const { capacity, isDisabled } = source
  return { name, capacity: toCapacity(objectOf(capacity)), isDisabled: isTrue(isDisabled) }
}

export function newGroupOf({ context }: Stage): string | undefined {
  return Object.values(objectOf(context['deploy.server.groups'])).flatMap(textsOf)[0]
}

export function resizeStage(verb: string, place: StrategyPlace, serverGroup: string, capacity: CloudCapacity): NewStage {
  return serverGroupStage('resizeServerGroup', verb, place, serverGroup, { capacity })
}

/** Fixes the minimum, so that nothing shrinks the source while it may have to take all the traffic again. */
export function pin({ name, capacity: { max, desired } }: Source, place: StrategyPlace): NewStage {
  return resizeStage('Pin', place, name, { min: desired, max, desired })
}

/** Restores the minimum that the source had before the deployment, unless it has been deleted meanwhile. */
export function unpin({ name, capacity: { min, max, desired } }: Source, place: StrategyPlace): NewStage {
  const capacity = { min, max, desired }
  return serverGroupStage('resizeServerGroup', 'Unpin', place, name, { capacity, 'source.mayBeMissing': true })
}

/** @param place With what all its stages have in common */
export function serverGroupStage(
  type: string,
  verb: string,
  { common }: Pick<StrategyPlace, 'common'>,
  name: string,
  settings: JsonObject = {},
): NewStage {
  return { type, name: `${verb} ${name}`, context: { ...common, serverGroupName: name, asgName: name, ...settings } }
}
