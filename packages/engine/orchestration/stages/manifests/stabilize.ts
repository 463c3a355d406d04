import { fieldAt, isTrue, type JsonObject, numberOf, objectOf, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { failureRecord, StageError } from '../../machine/failure.ts'
import { passedMs, pausedMs } from '../../machine/timeout.ts'
import { isFalse, waitingKey } from '../../model.ts'
import { requireAccount } from '../infrastructure/cloud-context.ts'
import { minuteMs, pauseFor } from '../infrastructure/cloud-task.ts'
import type { Step, TaskContext, TaskResult } from '../stage-type.ts'
import { type ManifestTarget, toPathLocation } from './manifest-context.ts'
import { deployedNames } from './promote-outputs.ts'

export const stabilizeStepName = 'waitForManifestToStabilize'
const defaultMinutes = 30
const longestPauseMs = 5000
/** Objects that are read at the same time. */
const parallelReads = 10
const maxReason = 500
const absencesKey = 'manifests.absences'

/** @param absenceMs How long an object may be missing */
export function stabilizeStep(absenceMs: number): Step {
  return {
    name: stabilizeStepName,
    timeoutMs: defaultMinutes * minuteMs,
    timeoutOf: ({ context }) => {
      const minutes = numberOf(context['stableManifestTimeoutMinutes'])
      return minutes === undefined ? undefined : minutes * minuteMs
    },
    execute: (context) => look(context, absenceMs),
  }
}

/** What a look found out about an object. */
interface Verdict {
  readonly target: ManifestTarget
  readonly kind: 'stable' | 'failed' | 'waiting'
  readonly message?: string
  /** Since when it is missing, milliseconds since the epoch. */
  readonly absentSince?: number
  readonly warnings?: unknown
  readonly events?: unknown
}

async function look(context: TaskContext, absenceMs: number): Promise<TaskResult> {
  const settings = context.stage.context
  const decided = [...objectsOf(settings['stableManifests']), ...objectsOf(settings['failedManifests'])].map(keyOf)
  const open = targetsOf(context).filter((target) => !decided.includes(keyOf(toShown(target))))
  const verdicts: Verdict[] = []
  for (let start = 0; start < open.length; start += parallelReads) {
    const part = open.slice(start, start + parallelReads)
    verdicts.push(...(await Promise.all(part.map((target) => judge(context, target, absenceMs)))))
  }
  return conclude(context, verdicts)
}

function conclude(context: TaskContext, verdicts: readonly Verdict[]): TaskResult {
  const settings = context.stage.context
  const of = (kind: Verdict['kind']) => verdicts.filter((each) => each.kind === kind)
  const waiting = of('waiting')
  const failures = [...textsOf(settings['manifests.failures']), ...of('failed').flatMap(({ message }) => message ?? [])]
  const reasons = waiting.flatMap(({ message }) => message ?? [])
  const absences = waiting.flatMap(({ target, absentSince }) =>
    absentSince === undefined ? [] : [[keyOf(toShown(target)), absentSince]],
  )
  const [first, ...others] = reasons
  const shown = {
    messages: [...failures, ...reasons],
    stableManifests: [...objectsOf(settings['stableManifests']), ...of('stable').map(({ target }) => toShown(target))],
    failedManifests: [...objectsOf(settings['failedManifests']), ...of('failed').map(({ target }) => toShown(target))],
    'manifests.failures': failures,
    [absencesKey]: absences.length > 0 ? Object.fromEntries(absences) : undefined,
    [waitingKey]: first === undefined ? undefined : others.length === 0 ? first : `${first} (and ${others.length} more)`,
    ...notesOf(verdicts, 'warnings'),
    ...notesOf(verdicts, 'events'),
  }
  if (waiting.length > 0) return { status: 'RUNNING', context: shown, pollMs: Math.min(pauseFor(context), longestPauseMs) }
  const [failure, ...more] = failures
  if (failure === undefined) return { status: 'SUCCEEDED', context: shown }
  return { status: 'TERMINAL', context: { ...shown, exception: failureRecord('ManifestFailed', [failure, ...more]) } }
}

function notesOf(verdicts: readonly Verdict[], key: 'warnings' | 'events'): JsonObject {
  const found = verdicts.flatMap((verdict) => objectsOf(verdict[key]))
  return found.length === 0 ? {} : { [key]: found }
}

/** What the stage has deployed, else the object that it works on. */
function targetsOf({ stage }: TaskContext): ManifestTarget[] {
  const account = requireAccount(stage.context)
  const deployed = deployedNames(stage.context)
  const name = textOf(stage.context['manifest.name'])
  const single = name === undefined ? [] : [{ location: textOf(stage.context['manifest.location']) ?? '', name }]
  const all = deployed.length > 0 ? deployed : single
  return all.map((each) => ({ account, location: toPathLocation(each.location), name: each.name }))
}

function toShown({ name, location }: ManifestTarget): JsonObject {
  return { manifestName: name, location }
}

function keyOf({ manifestName, location }: JsonObject): string {
  return `${String(location)} ${String(manifestName)}`
}

async function judge(context: TaskContext, target: ManifestTarget, absenceMs: number): Promise<Verdict> {
  const describe = (reason: string) =>
    `'${target.name}' in '${target.location}' for account ${target.account}: ${reason.trim().slice(0, maxReason)}`
  let body: JsonObject | undefined
  try {
    body = await loadManifest(context, target, isTrue(context.stage.context['includeEvents']))
  } catch (error) {
    if (!(error instanceof StageError)) throw error
    return { target, kind: 'waiting', message: describe(`its state cannot be read: ${error.message}`) }
  }
  if (body === undefined) return absent(context, target, absenceMs, describe)
  const { warnings, events } = body
  return { target, ...judgeStatus(body, isFalse(context.stage.context['failFast']), describe), warnings, events }
}

/** The object as it is now; undefined when there is none. */
export function loadManifest(
  { infrastructure }: TaskContext,
  { account, location, name }: ManifestTarget,
  includeEvents = false,
): Promise<JsonObject | undefined> {
  return infrastructure.manifest({ account, region: location, name, includeEvents })
}

function absent(
  { stage, execution, now }: TaskContext,
  target: ManifestTarget,
  absenceMs: number,
  describe: (reason: string) => string,
): Verdict {
  const absentSince = numberOf(fieldAt(stage.context, absencesKey, keyOf(toShown(target)))) ?? now
  const absentMs = passedMs(execution, absentSince, now) - pausedMs(execution, absentSince, now)
  if (absentMs < absenceMs) return { target, kind: 'waiting', message: describe('it does not exist'), absentSince }
  const seconds = Math.round(absenceMs / 1000)
  return { target, kind: 'failed', message: describe(`it does not exist for ${seconds} s: something has deleted it`) }
}

/** @param isPatient Whether to wait where it is pointless */
function judgeStatus(
  body: JsonObject,
  isPatient: boolean,
  describe: (reason: string) => string,
): Pick<Verdict, 'kind' | 'message'> {
  const status = objectOf(body['status'])
  const state = (key: string) => isTrue(fieldAt(status, key, 'state'))
  const text = (key: string) => textOf(fieldAt(status, key, 'message'))
  const reasons = [...textsOf(body['reasons']), ...textsOf(status['reasons'])]
  const joined = (...first: (string | undefined)[]) => {
    const sentences = [...first.filter((each) => each !== undefined), ...reasons].map((each) => each.replace(/\.$/, ''))
    return [...new Set(sentences)].join('. ')
  }
  if (state('failed')) return { kind: 'failed', message: describe(joined(text('failed') ?? 'it failed')) }
  if (state('stable')) return { kind: 'stable' }
  const waits = joined(text('stable') ?? text('available') ?? 'it is not stable yet')
  const isHopeless = isTrue(body['hopeless']) || isTrue(status['hopeless'])
  return { kind: isHopeless && !isPatient ? 'failed' : 'waiting', message: describe(waits) }
}
