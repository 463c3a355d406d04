/** Groups of triggers that share a poll. */
import { readTrigger } from '@fairlead/model/pipelines/definition.ts'
import type { EffectivePipeline } from '../../pipelines/effective-pipelines.ts'
import type { WaitingTrigger } from '../event-log.ts'
import type { PolledSource, PolledState } from './polled-source.ts'

/** What is polled, for the triggers that wait for it. */
export interface PollGroup {
  readonly key: string
  readonly source: PolledSource
  waiting: readonly WaitingTrigger[]
  /** On the steady clock. */
  dueMs: number
  isRunning: boolean
  /** Changes that the last turn has left for the next. */
  hasMore: boolean
  /** In a row. */
  failures: number
  /** What the last poll has found. */
  found: PolledState | undefined
  /** What was compared with the stored state last. */
  compared: PolledState | undefined
}

/** By key, of enabled triggers in enabled pipelines. Known groups stay the same objects, since their polls may be running. */
export function groupTriggers(
  pipelines: readonly EffectivePipeline[],
  sources: readonly PolledSource[],
  known: ReadonlyMap<string, PollGroup>,
): Map<string, PollGroup> {
  const groups = new Map<string, PollGroup>()
  for (const { source, key, ...one } of pipelines.flatMap((pipeline) =>
    waitingIn(pipeline, sources),
  )) {
    const waiting = [...(groups.get(key)?.waiting ?? []), one]
    const group = groups.get(key) ?? known.get(key) ?? toGroup(key, source)
    group.waiting = waiting
    groups.set(key, group)
  }
  return groups
}

interface KeyedTrigger extends WaitingTrigger {
  readonly key: string
  readonly source: PolledSource
}

function waitingIn(
  { definition: pipeline, isDisabled, triggers }: EffectivePipeline,
  sources: readonly PolledSource[],
): KeyedTrigger[] {
  if (isDisabled) return []
  return triggers
    .filter((trigger) => readTrigger(trigger).isEnabled)
    .flatMap((trigger) => {
      const source = sources.find(({ triggerType }) => triggerType === trigger['type'])
      const key = source?.keyOf(trigger)
      return source === undefined || key === undefined ? [] : [{ pipeline, trigger, source, key }]
    })
}

function toGroup(key: string, source: PolledSource): PollGroup {
  return {
    key,
    source,
    waiting: [],
    dueMs: 0,
    isRunning: false,
    hasMore: false,
    failures: 0,
    found: undefined,
    compared: undefined,
  }
}
