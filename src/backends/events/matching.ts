/** Choice of the pipelines that an event starts. @see docs/contracts/events.md#from-event-to-start, steps 1 to 5 */
import { formatJson } from '../../json/json.ts'
import { isTrue, type JsonObject, textOf, textsOf } from '../../json/values.ts'
import type { BackendContext } from '../backend.ts'
import type { EffectivePipeline, EffectivePipelines } from '../pipelines/effective-pipelines.ts'
import { requireAccess } from '../rights/access.ts'
import type { Event } from './event.ts'
import { createPatterns, type Patterns } from './event-patterns.ts'
import { toIdentity } from './identity.ts'
import { triggerKinds } from './kinds/all.ts'
import type { MatchContext, TriggerKind } from './kinds/kind.ts'
import { loadTriggeredPipelines } from './pipelines.ts'
import type { Start } from './start.ts'

/**
 * One start for each trigger that the event fires. Life-cycle events and unknown types fire none.
 *
 * @throws {BackendError} when the definitions or permissions cannot be read, 503 when the sender may send the event again
 */
export async function toTriggeredStarts(context: BackendContext, pipelines: EffectivePipelines, event: Event): Promise<Start[]> {
  const kind = triggerKinds.find(({ eventType }) => eventType === event.type)
  if (kind === undefined || kind.accepts?.(event) === false) return []
  const means = { patterns: createPatterns(context), call: context.call }
  const artifacts = kind.artifacts(event)
  const starts: Start[] = []
  for (const pipeline of await loadTriggeredPipelines(context.call, pipelines, kind.triggerTypes)) {
    for (const start of await startsOf(context, kind, pipeline, { event, artifacts }, means)) starts.push(start)
  }
  return starts
}

/** Triggers that come out equal start the pipeline once. Without the right to start, no patterns are matched. */
async function startsOf(
  context: BackendContext,
  kind: TriggerKind,
  pipeline: EffectivePipeline,
  { event, artifacts }: { event: Event; artifacts: JsonObject[] },
  means: MatchContext,
): Promise<Start[]> {
  const starts = new Map<string, Start>()
  const { definition } = pipeline
  for (const defined of pipeline.triggers) {
    if (!isTrue(defined['enabled']) || !kind.triggerTypes.includes(String(defined['type']))) continue
    if (!kind.concerns(defined, event)) continue
    const { identity, user, access } = await toIdentity(requireAccess, context, definition, defined)
    if (!access.mayOnApplication(textOf(definition['application']) ?? '', 'EXECUTE')) {
      context.log.info(
        { pipeline: definition['id'], trigger: defined['id'], user },
        'a trigger is left out: its user may not execute',
      )
      continue
    }
    if (!(await kind.matches(defined, event, means))) continue
    if (!hasExpectedArtifact(pipeline.expectedArtifacts, defined, artifacts, means.patterns)) continue
    // A secret stays with the definition; a run's id is never that of another run.
    const { secret: _secret, executionId: _executionId, ...kept } = defined
    const trigger = { ...kept, eventId: event.id, ...kind.fields(defined, event) }
    // Whatever the event brought along is the same for all of them.
    starts.set(formatJson({ ...trigger, payload: undefined }), { pipeline: definition, trigger, artifacts, identity })
  }
  return [...starts.values()]
}

/**
 * Whether at least one received artifact is one that the trigger expects; also when it expects none.
 *
 * @see docs/contracts/events.md#expected-artifacts
 */
function hasExpectedArtifact(
  all: readonly JsonObject[],
  trigger: JsonObject,
  received: readonly JsonObject[],
  patterns: Patterns,
): boolean {
  const ids = textsOf(trigger['expectedArtifactIds'])
  if (ids.length === 0) return true
  const expected = all.filter(({ id }) => typeof id === 'string' && ids.includes(id))
  return expected.some((each) => received.some((artifact) => patterns.isExpected(each, artifact)))
}
