/** Choice of the pipelines that an event starts. @see docs/contracts/events.md#from-event-to-start, steps 1 to 6 */

import { formatJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { readTrigger } from '@fairlead/model/pipelines/definition.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself, toCaller } from '@fairlead/ports/caller.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { EffectivePipeline, EffectivePipelines } from '../pipelines/effective-pipelines.ts'
import type { Event } from './event.ts'
import { createPatterns } from './event-patterns.ts'
import { describeForbiddenStart, toIdentity } from './identity.ts'
import { triggerKinds } from './kinds/all.ts'
import { isConcerned, type MatchContext, type TriggerKind } from './kinds/kind.ts'
import { loadTriggeredPipelines } from './pipelines.ts'
import { describeQuiet } from './quiet-period.ts'
import type { Start } from './start.ts'

/** A trigger that waits for such events. */
export interface Candidate {
  readonly pipeline: JsonObject
  readonly trigger: JsonObject
  /** What it starts, or why it starts nothing, as a sentence. */
  readonly result: Start | string
}

export interface Matching {
  readonly candidates: readonly Candidate[]
  /** Why there are none. */
  readonly reason?: string
}

/** What a sender without login hears, too: it tells nothing of triggers. */
export const noName =
  'The body names nothing that a trigger could wait for. Check type and source in the address of the webhook.'

/**
 * The triggers that wait for what an event is about, with one start for each that fires. Life-cycle events and unknown types fire
 * none.
 *
 * @throws {PortError} when the definitions or permissions cannot be read, 503 when the sender may send the event again
 */
export async function matchTriggers(
  context: BackendContext,
  pipelines: EffectivePipelines,
  event: Event,
): Promise<Matching> {
  const kind = triggerKinds.find(({ eventType }) => eventType === event.type)
  if (kind === undefined)
    return {
      candidates: [],
      reason: `No type of trigger waits for events of the type "${event.type}".`,
    }
  const declined = kind.declines?.(event)
  const means = { patterns: createPatterns(context), ports: context.ports }
  const arrival = { event, artifacts: kind.artifacts(event) }
  const candidates: Candidate[] = []
  const about = kind.about(event).filter((name) => name !== undefined)
  for (const pipeline of await loadTriggeredPipelines(context.ports.definitions, pipelines, {
    types: kind.triggerTypes,
    about,
  })) {
    const concerned = pipeline.triggers.filter((trigger) =>
      isConcerned(kind, trigger, event, about),
    )
    if (concerned.length === 0) continue
    const matcher =
      declined === undefined
        ? new PipelineMatcher(context, { kind, pipeline, means }, arrival)
        : undefined
    for (const trigger of concerned) {
      const result = matcher === undefined ? String(declined) : await matcher.resultOf(trigger)
      candidates.push({ pipeline: pipeline.definition, trigger, result })
    }
  }
  if (candidates.length > 0) return { candidates }
  const none = about.length === 0 ? noName : 'No trigger of a pipeline waits for this.'
  return { candidates, reason: declined ?? none }
}

interface Arrival {
  readonly event: Event
  readonly artifacts: JsonObject[]
}

interface Candidates {
  readonly kind: TriggerKind
  readonly pipeline: EffectivePipeline
  readonly means: Omit<MatchContext, 'as'>
}

/** Matches the triggers of a pipeline for one event. */
class PipelineMatcher {
  readonly #context: BackendContext
  readonly #candidates: Candidates
  readonly #arrival: Arrival
  /** What its triggers have started so far. */
  readonly #starts = new Set<string>()

  constructor(context: BackendContext, candidates: Candidates, arrival: Arrival) {
    this.#context = context
    this.#candidates = candidates
    this.#arrival = arrival
  }

  /** Triggers that come out equal start the pipeline once. Without the right to start, no patterns are matched. */
  async resultOf(defined: JsonObject): Promise<Start | string> {
    const { kind, pipeline, means } = this.#candidates
    const { event, artifacts } = this.#arrival
    const { definition } = pipeline
    if (pipeline.isDisabled) return 'The pipeline is disabled.'
    if (!readTrigger(defined).isEnabled) return 'The trigger is disabled.'
    const refusal = await this.#refusalOf(defined)
    if (refusal !== undefined) return refusal
    const starter = await toIdentity(requireAccess, this.#context, definition, defined)
    const forbidden = describeForbiddenStart(starter, definition)
    if (forbidden !== undefined) return forbidden
    const as = this.#context.settings.authorization === true ? toCaller(starter.identity) : itself
    const problem =
      (await kind.mismatch(defined, event, { ...means, as })) ?? this.#describeMissing(defined)
    if (problem !== undefined) return problem
    // A secret stays with the definition; a run's id is never that of another run.
    const { secret: _secret, executionId: _executionId, ...kept } = defined
    const trigger = { ...kept, eventId: event.id, ...kind.fields(defined, event) }
    // Whatever the event brought along is the same for all of them.
    const key = formatJson({ ...trigger, payload: undefined })
    if (this.#starts.has(key)) return 'An equal trigger of the pipeline has started it already.'
    this.#starts.add(key)
    const start = { pipeline: definition, trigger, artifacts, identity: starter.identity }
    return describeQuiet(this.#context, start) ?? start
  }

  /**
   * A trigger may refer to its secret, which only senders have to prove.
   *
   * @throws {PortError} 503 when the secret cannot be read for now
   */
  async #refusalOf(defined: JsonObject): Promise<string | undefined> {
    const { kind, pipeline } = this.#candidates
    const { application, name } = pipeline
    const use = {
      application,
      user: 'triggers',
      place: `trigger of pipeline ${application}/${name}`,
    }
    const { event } = this.#arrival
    if (event.isObserved) return kind.refuses?.(defined, event)
    try {
      const { value: secret } = await this.#context.ports.secrets.reveal(defined['secret'], use)
      return kind.refuses?.({ ...defined, secret }, event)
    } catch (error) {
      if (error instanceof PortError && error.status < 500) return error.message
      throw error
    }
  }

  /**
   * At least one received artifact must be one that the trigger expects, if it expects any.
   *
   * @see docs/contracts/events.md#expected-artifacts
   */
  #describeMissing(trigger: JsonObject): string | undefined {
    const { expectedArtifactIds: ids } = readTrigger(trigger)
    if (ids.length === 0) return undefined
    const expected = this.#candidates.pipeline.expectedArtifacts.filter(
      ({ id }) => typeof id === 'string' && ids.includes(id),
    )
    const { patterns } = this.#candidates.means
    const { artifacts } = this.#arrival
    if (expected.some((each) => artifacts.some((artifact) => patterns.isExpected(each, artifact))))
      return undefined
    return artifacts.length === 0
      ? 'The trigger expects an artifact, and the event brings none.'
      : 'None of the artifacts of the event is one that the trigger expects.'
  }
}
