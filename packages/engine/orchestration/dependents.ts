/**
 * Starts of pipelines whose trigger follows the end of another one.
 *
 * @see docs/contracts/orchestration.md#dependent-pipelines
 */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { joinUsers } from '@fairlead/base/names/acting-users.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { readTrigger } from '@fairlead/model/pipelines/definition.ts'
import { anonymous, toCaller } from '@fairlead/ports/caller.ts'
import { type EventRecord, type TriggerOutcome, toOutcome } from '@fairlead/ports/event-record.ts'
import type { EffectivePipeline } from '../pipelines/effective-pipelines.ts'
import { isTriggerHeld } from '../pipelines/held-triggers.ts'
import { artifactsOfExecution } from './artifacts-at-hand.ts'
import type { EngineParts } from './engine-parts.ts'
import { identitiesOf, identityHeaders } from './identity.ts'
import type { Execution } from './model.ts'
import { completionWord } from './statuses.ts'
import { callerAs, prepareChild, recordFailure } from './submission/prepare-pipeline.ts'
import { triggerOfChild } from './submission/trigger.ts'

export interface Dependents {
  /** Not stored yet: runs, and failed executions of those that cannot run. */
  prepared: Execution[]
  /** What could not be prepared now, but may be later; by `pipeline id:position of the trigger`. */
  postponed: string[]
  /** What became of each trigger that was not postponed. */
  outcomes: TriggerOutcome[]
}

/**
 * The runs that the end of `parent` entails: the caller stores all of them in the transaction that notes that this is done, so a
 * crash leaves none or all. One that cannot be prepared does not stop the others.
 *
 * @param open Only these are to be started; all unless given.
 * @param isLast What may be prepared later counts as failed.
 * @throws {Error} when the definition store cannot be asked
 */
export async function prepareDependents(
  engine: EngineParts,
  parent: Execution,
  { open, isLast }: { open: readonly string[] | undefined; isLast: boolean },
): Promise<Dependents> {
  const word = completionWord(parent.status)
  const dependents: Dependents = { prepared: [], postponed: [], outcomes: [] }
  for (const pipeline of await loadDependents(engine, parent, word)) {
    const { definition } = pipeline
    for (const [position, trigger] of matchingTriggers(pipeline, parent, word).entries()) {
      const dependent = { parent, definition, trigger, position }
      const key = `${definition['id']}:${position}`
      if (open?.includes(key) === false) continue
      try {
        add(dependents, dependent, await prepareDependent(engine, dependent))
      } catch (error) {
        engine.options.log.warn(
          { err: error, dependent: key, parent: parent.id },
          'a dependent pipeline could not be started',
        )
        if (isLast) add(dependents, dependent, failedDependent(engine, dependent, error as Error))
        else dependents.postponed.push(key)
      }
    }
  }
  return dependents
}

function add(
  { prepared, outcomes }: Dependents,
  { definition, trigger }: Dependent,
  child: Execution | string,
): void {
  const what =
    typeof child === 'string'
      ? { reason: child }
      : { executionId: child.id, reason: child.cancellationReason }
  outcomes.push(toOutcome(definition, trigger, what))
  if (typeof child !== 'string') prepared.push(child)
}

/** Without what the refused may not read of the parent. */
export function toEventRecords(
  { id, name, application, status }: Execution,
  outcomes: readonly TriggerOutcome[],
): EventRecord[] {
  const { started = [], refused = [] } = Object.groupBy(outcomes, ({ executionId }) =>
    executionId === undefined ? 'refused' : 'started',
  )
  const summary = { application, pipeline: name, execution: id, status }
  const records = [
    { type: 'pipeline', summary, triggers: started },
    { type: 'pipeline', summary: {}, triggers: refused },
  ]
  return records.filter(({ triggers }) => triggers.length > 0)
}

async function loadDependents(
  { options }: EngineParts,
  parent: Execution,
  word: string,
): Promise<EffectivePipeline[]> {
  const as = toCaller(identityHeaders({ execution: parent }))
  const followers = await options.ports.definitions.followersOf(
    parent.pipelineConfigId as string,
    word,
    as,
  )
  return options.pipelines.complete(followers)
}

interface Dependent {
  readonly parent: Execution
  readonly definition: JsonObject
  readonly trigger: JsonObject
  /** Position of the trigger among those that match. */
  readonly position: number
}

/** @returns why it is not started, unless it is @throws {Error} what may pass; a definition that can never be run becomes a failed execution. */
async function prepareDependent(
  engine: EngineParts,
  dependent: Dependent,
): Promise<Execution | string> {
  const { parent } = dependent
  const starter = await starterOf(engine, dependent)
  if (starter === undefined)
    return 'The user of the trigger may not execute the pipeline, or may not read the pipeline that it depends on, or the trigger is held back.'
  const child = childDefinition(dependent, starter.user)
  try {
    return await prepareChild(child, parent, starter.headers, engine.options)
  } catch (error) {
    if (!(error instanceof PortError) || error.status >= 500) throw error
    return recordFailure(child, error.message, callerAs(starter.headers, parent), engine.options)
  }
}

/** It is unknown whether its user may read the parent, so it gets nothing of it. */
function failedDependent(
  { options }: EngineParts,
  { parent, definition, trigger }: Dependent,
  { message }: Error,
): Execution {
  const { pipeline, status } = trigger
  const child = { ...definition, trigger: { type: 'pipeline', pipeline, status } }
  return recordFailure(
    child,
    message,
    callerAs({ 'x-spinnaker-user': 'anonymous' }, parent),
    options,
  )
}

interface Starter {
  /** Shown as having started the child. */
  user: string
  headers: Record<string, string>
}

/**
 * The user that the child acts for: the trigger's `runAsUser`, or else, within one application, the user of the parent. A
 * pipeline of another application runs as `anonymous`: its author would borrow the rights of all who run the parent. Undefined
 * when that user may not execute the child, or may not read the parent, which the child receives. Who has steered the parent has
 * steered what follows: the child acts for those users, too, and each of them needs these rights.
 *
 * @throws {PortError} 503 while the permission service cannot be asked
 * @see docs/contracts/events.md#user-of-a-run, docs/contracts/permissions.md#anonymous
 */
async function starterOf(
  engine: EngineParts,
  { parent, definition, trigger }: Dependent,
): Promise<Starter | undefined> {
  const { judges, accessOf, log } = engine.options
  const headers = identityHeaders({ execution: parent })
  if (!judges) return { user: parent.trigger.user, headers }
  const [starter, ...steerers] = identitiesOf({ execution: parent }).map((each) => each.user)
  const application = String(definition['application'] ?? '')
  const isOwn = foldName(application) === foldName(parent.application)
  const runAsUser = typeof trigger['runAsUser'] === 'string' ? trigger['runAsUser'].trim() : ''
  if (isTriggerHeld(engine.options.ports.definitions, definition, runAsUser)) return undefined
  const base =
    runAsUser ||
    (isOwn && starter) ||
    (await engine.options.vouchersOf({ ...definition, trigger })) ||
    anonymous
  const user = joinUsers([base, ...steerers])
  const access = await accessOf(user)
  const mayStart =
    access.mayOnApplication(application, 'EXECUTE') &&
    (isOwn || access.mayOnApplication(parent.application, 'READ'))
  if (!mayStart) {
    const facts = { pipeline: definition['id'], parent: parent.id, user }
    log.warn(
      facts,
      'a dependent pipeline was not started: its user may not execute it, or may not read what it depends on',
    )
    return undefined
  }
  if (runAsUser === '' && isOwn) return { user: parent.trigger.user, headers }
  return {
    user: base,
    headers: {
      ...headers,
      'x-spinnaker-user': user,
      'x-spinnaker-accounts': access.accounts.join(','),
    },
  }
}

function matchingTriggers(
  { isDisabled, triggers }: EffectivePipeline,
  parent: Execution,
  word: string,
): JsonObject[] {
  if (isDisabled) return []
  return triggers.filter(
    (trigger) =>
      readTrigger(trigger).isEnabled &&
      trigger['type'] === 'pipeline' &&
      trigger['pipeline'] === parent.pipelineConfigId &&
      Array.isArray(trigger['status']) &&
      trigger['status'].includes(word),
  )
}

function childDefinition(
  { parent, definition, trigger, position }: Dependent,
  user: string,
): JsonObject {
  const parts = [parent.id, null, definition['id'], parent.startTime ?? null]
  return {
    ...definition,
    trigger: triggerOfChild(parent, {
      user,
      correlationId: position === 0 ? parts.join(':') : [...parts, position].join(':'),
      artifacts: artifactsOfExecution(parent),
      expectedArtifactIds: trigger['expectedArtifactIds'],
      runAsUser: trigger['runAsUser'],
    }),
  }
}
