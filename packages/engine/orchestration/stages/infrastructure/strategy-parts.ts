/** What deployment strategies are made of: where they work, what was there before, and stages of single server groups. */
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { strategyFields } from '@fairlead/model/stage-types/infrastructure.ts'
import { readFields, type ValuesOf } from '@fairlead/model/stage-types/read-fields.ts'
import { type CloudCapacity, toCapacity } from '@fairlead/ports/cloud-values.ts'
import type { Execution, Stage } from '../../model.ts'
import type { NewStage, Submission } from '../stage-type.ts'
import {
  applicationOf,
  cloudPlaceFields,
  createdClusterOf,
  firstText,
  placesOf,
  stageAccountOf,
  stageProviderOf,
} from './cloud-context.ts'
import { createdNote, type Former, sourceNote, strategyNote, withoutNotes } from './notes.ts'

const strategies = [
  'highlander',
  'recreate',
  'redblack',
  'rollingredblack',
  'canary',
  'custom',
] as const
type Strategy = (typeof strategies)[number] | 'none'

/** Names compare without case; an unknown one behaves like none. */
export function strategyOf(context: JsonObject): Strategy {
  const name = (strategyNote.in(context) ?? firstText(context, 'strategy') ?? '').toLowerCase()
  return strategies.find((each) => each === name) ?? 'none'
}

export type StrategySettings = ValuesOf<typeof strategyFields>

export function strategySettingsOf({ context }: Pick<Stage, 'context'>): StrategySettings {
  return readFields(strategyFields, context)
}

/** Versions that stay unless told otherwise: the new one, and the one before it for a rollback. */
export const usualRemaining = 2

export const empty: CloudCapacity = { min: 0, max: 0, desired: 0 }

export interface StrategyPlace {
  readonly application: string
  readonly cluster: string
  /** What all stages have. */
  readonly common: JsonObject
}

export function strategyPlaceOf(
  { context }: Pick<Stage, 'context'>,
  execution: Execution,
): StrategyPlace {
  const application = applicationOf({ stage: { context }, execution })
  const [region] = placesOf(context)
  const cluster = createdClusterOf(context, application)
  const { interestingHealthProviderNames } = context
  const place = cloudPlaceFields({
    provider: stageProviderOf(context),
    account: stageAccountOf(context),
    region,
  })
  return {
    application,
    cluster,
    common: { ...place, application, ...definedOf({ interestingHealthProviderNames }) },
  }
}

/** The server group that was there before, as it was when the deployment began. */
export function sourceOf({ context }: Stage): Former | undefined {
  const { name, capacity, isDisabled } = sourceNote.in(context)
  return name === undefined ? undefined : { name, capacity: capacity ?? toCapacity({}), isDisabled }
}

export function newGroupOf({ context }: Stage): string | undefined {
  return createdNote.in(context)[0]?.name
}

type CommonPlace = Pick<StrategyPlace, 'common'>

export function resizeStage(
  verb: string,
  place: CommonPlace,
  serverGroup: string,
  capacity: CloudCapacity,
): NewStage {
  return serverGroupStage('resizeServerGroup', verb, place, serverGroup, { capacity })
}

/** Fixes the minimum, so that nothing shrinks the source while it may have to take all the traffic again. */
export function pin({ name, capacity: { max, desired } }: Former, place: CommonPlace): NewStage {
  return resizeStage('Pin', place, name, { min: desired, max, desired })
}

/** Restores the minimum that the source had before the deployment, unless it has been deleted meanwhile. */
export function unpin({ name, capacity }: Former, place: CommonPlace): NewStage {
  return serverGroupStage('resizeServerGroup', 'Unpin', place, name, {
    capacity,
    'source.mayBeMissing': true,
  })
}

export function disableStage(place: CommonPlace, name: string): NewStage {
  return serverGroupStage('disableServerGroup', 'Disable', place, name)
}

/** It starts without traffic, which it gets once its instances are up. */
export function startStages(
  name: string,
  capacity: CloudCapacity,
  place: CommonPlace,
  settings: JsonObject = {},
): NewStage[] {
  return [
    resizeStage('Start', place, name, capacity),
    serverGroupStage('enableServerGroup', 'Enable', place, name, settings),
  ]
}

/** The last stage ends once its processes have. */
export function stopStages(name: string, place: CommonPlace): NewStage[] {
  return [disableStage(place, name), resizeStage('Stop', place, name, empty)]
}

/** Removes a version that is out of traffic already, where the stage asks for it. */
export function destroyLatest(
  stage: Stage,
  place: CommonPlace,
  { name: deployed, isCanceled = false }: { readonly name: string; readonly isCanceled?: boolean },
): NewStage[] {
  const { rollback } = strategySettingsOf(stage)
  const isWanted = rollback.destroyLatest || (isCanceled && rollback.destroyCanceled)
  const settings = { skipDisableBeforeDestroy: true }
  return isWanted
    ? [serverGroupStage('destroyServerGroup', 'Destroy', place, deployed, settings)]
    : []
}

/** @param place With what all its stages have in common */
export function serverGroupStage(
  type: string,
  verb: string,
  { common }: CommonPlace,
  name: string,
  settings: JsonObject = {},
): NewStage {
  return {
    type,
    name: `${verb} ${name}`,
    context: { ...common, serverGroupName: name, asgName: name, ...settings },
  }
}

/** What stages of single resources submit: operations have their names. */
export function toOperations(stages: readonly NewStage[]): Submission['operations'] {
  return stages.map(({ type, context }) => ({ [type]: withoutNotes(context) }))
}
