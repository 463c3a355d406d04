import type { Cause } from '@fairlead/base/causes/cause.ts'
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { stability } from '@fairlead/model/stage-types/manifests.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { CloudManifest } from '@fairlead/ports/cloud-values.ts'
import { failureRecord, StageError } from '../../machine/failure.ts'
import { passedMs, pausedMs } from '../../machine/timeout.ts'
import { waitingKey } from '../../model.ts'
import { requireAccount } from '../infrastructure/cloud-context.ts'
import { minuteMs, pauseFor } from '../infrastructure/cloud-task.ts'
import { deployedNote, manifestsNote } from '../infrastructure/notes.ts'
import type { Step, TaskContext, TaskResult } from '../stage-type.ts'
import { type ManifestTarget, toPathLocation } from './manifest-context.ts'

export const stabilizeStepName = 'waitForManifestToStabilize'
const longestPauseMs = 5000
/** Objects that are read at the same time. */
const parallelReads = 10
const maxReason = 500

/** @param absenceMs How long an object may be missing */
export function stabilizeStep(absenceMs: number): Step {
  return {
    name: stabilizeStepName,
    timeoutOf: ({ context }) =>
      readFields(stability, context).stableManifestTimeoutMinutes * minuteMs,
    execute: (context) => look(context, absenceMs),
  }
}

interface Shown {
  readonly manifestName: string
  readonly location: string
}

const toShownList = list(shape({ manifestName: or(textOf, ''), location: or(textOf, '') }))

/** What earlier looks have found, and the object of an operation. */
const readNotes = shape({
  stableManifests: toShownList,
  failedManifests: toShownList,
  failures: [textsOf, 'manifests.failures'],
  /** What is to be known of objects that were stable. */
  remarks: [textsOf, 'manifests.remarks'],
  /** Since when objects are missing, by their keys; milliseconds since the epoch. */
  absences: [objectOf, 'manifests.absences'],
  /** Since when objects report the same trouble, and its reason. */
  troubles: [objectOf, 'manifests.troubles'],
  name: [textOf, 'manifest.name'],
  location: [or(textOf, ''), 'manifest.location'],
})

/** Objects of the stage that were stable. */
export function stableIn(context: JsonObject): readonly Shown[] {
  return readNotes(context).stableManifests
}

/** What a look found out about an object. */
interface StabilityResult {
  readonly target: ManifestTarget
  readonly kind: 'stable' | 'failed' | 'waiting'
  readonly message?: string
  readonly cause?: Cause
  readonly absentSince?: number
  readonly trouble?: Trouble
  readonly warnings?: readonly JsonObject[]
  readonly events?: readonly JsonObject[]
}

interface Trouble {
  /** Milliseconds since the epoch. */
  readonly since: number
  readonly reason: string
}

async function look(context: TaskContext, absenceMs: number): Promise<TaskResult> {
  const { stableManifests, failedManifests } = readNotes(context.stage.context)
  const decided = [...stableManifests, ...failedManifests].map(keyOf)
  const open = targetsOf(context).filter((target) => !decided.includes(keyOf(toShown(target))))
  const results: StabilityResult[] = []
  for (let start = 0; start < open.length; start += parallelReads) {
    const part = open.slice(start, start + parallelReads)
    results.push(
      ...(await Promise.all(part.map((target) => checkTarget(context, target, absenceMs)))),
    )
  }
  return conclude(context, results)
}

function conclude(context: TaskContext, results: readonly StabilityResult[]): TaskResult {
  const before = readNotes(context.stage.context)
  const of = (kind: StabilityResult['kind']) => results.filter((each) => each.kind === kind)
  const shownOf = (kind: StabilityResult['kind']) => of(kind).map(({ target }) => toShown(target))
  const messagesOf = (kind: StabilityResult['kind']) =>
    of(kind).flatMap(({ message }) => message ?? [])
  const failures = [...before.failures, ...messagesOf('failed')]
  const remarks = [...before.remarks, ...messagesOf('stable')]
  const reasons = messagesOf('waiting')
  const notesOf = (read: (result: StabilityResult) => unknown) => {
    const found = results.flatMap((result) => {
      const value = read(result)
      return value === undefined ? [] : [[keyOf(toShown(result.target)), value] as const]
    })
    return found.length > 0 ? Object.fromEntries(found) : undefined
  }
  const notes = (['warnings', 'events'] as const).flatMap((key) => {
    const found = results.flatMap((result) => result[key] ?? [])
    return found.length === 0 ? [] : [[key, found]]
  })
  const [first, ...others] = reasons
  const shown = {
    messages: [...failures, ...reasons, ...remarks],
    stableManifests: [...before.stableManifests, ...shownOf('stable')],
    failedManifests: [...before.failedManifests, ...shownOf('failed')],
    'manifests.failures': failures,
    'manifests.remarks': remarks,
    'manifests.absences': notesOf(({ absentSince }) => absentSince),
    'manifests.troubles': notesOf(({ trouble }) => trouble),
    [waitingKey]:
      first === undefined
        ? undefined
        : others.length === 0
          ? first
          : `${first} (and ${others.length} more)`,
    ...Object.fromEntries(notes),
  }
  if (of('waiting').length > 0)
    return {
      status: 'RUNNING',
      context: shown,
      pollMs: Math.min(pauseFor(context), longestPauseMs),
    }
  const [failure, ...more] = failures
  if (failure === undefined) return { status: 'SUCCEEDED', context: shown }
  return {
    status: 'TERMINAL',
    context: {
      ...shown,
      exception: failureRecord('ManifestFailed', [failure, ...more], of('failed').at(0)?.cause),
    },
  }
}

/** What the stage has deployed, else the object that it works on. */
function targetsOf({ stage: { context } }: TaskContext): ManifestTarget[] {
  const account = requireAccount(context)
  const deployed = deployedNote.in(context)
  const { name, location } = readNotes(context)
  const single = name === undefined ? [] : [{ location, name }]
  const all = deployed.length > 0 ? deployed : single
  return all.map((each) => ({ account, location: toPathLocation(each.location), name: each.name }))
}

function toShown({ name, location }: ManifestTarget): Shown {
  return { manifestName: name, location }
}

function keyOf({ manifestName, location }: Shown): string {
  return `${location} ${manifestName}`
}

async function checkTarget(
  context: TaskContext,
  target: ManifestTarget,
  absenceMs: number,
): Promise<StabilityResult> {
  const fields = readFields(stability, context.stage.context)
  const describe = (reason: string) =>
    `'${target.name}' in '${target.location}' for account ${target.account}: ${reason.trim().slice(0, maxReason)}`
  let body: CloudManifest | undefined
  try {
    body = await loadOwnManifest(context, target, fields.includeEvents)
  } catch (error) {
    if (!(error instanceof StageError)) throw error
    return {
      target,
      kind: 'waiting',
      message: describe(`its state cannot be read: ${error.message}`),
    }
  }
  if (body === undefined) return absent(context, target, absenceMs, describe)
  const { warnings, events } = body
  const { kind, message, trouble, cause } = evaluateStatus(body, {
    ...fields,
    now: context.now,
    before: troubleOf(readNotes(context.stage.context).troubles[keyOf(toShown(target))]),
  })
  return {
    target,
    kind,
    ...(message !== undefined && { message: describe(message) }),
    ...(trouble !== undefined && { trouble }),
    cause,
    warnings,
    events,
  }
}

const readTrouble = shape({ since: numberOf, reason: or(textOf, '') })

function troubleOf(value: unknown): Trouble | undefined {
  const { since, reason } = readTrouble(value)
  return since === undefined ? undefined : { since, reason }
}

const readApplied = shape({ kind: textOf, metadata: shape({ name: textOf, uid: textOf }) })

/** A job that is gone after its end counts, unless it is an earlier one of the same name. */
async function loadOwnManifest(
  context: TaskContext,
  { account, location, name }: ManifestTarget,
  includeEvents: boolean,
): Promise<CloudManifest | undefined> {
  const place = { account, region: location, name, includeEvents, includeCollected: true }
  const found = await context.infrastructure.manifest(place)
  const applied = manifestsNote
    .in(context.stage.context)
    .map(readApplied)
    .find(({ kind, metadata }) => kind === 'Job' && name.toLowerCase() === `job ${metadata.name}`)
  const { uid } = readApplied(applied).metadata
  const isOther = uid !== undefined && uid !== readApplied(found?.manifest).metadata.uid
  return isOther ? undefined : found
}

/** The object as it is now; undefined when there is none. */
export function loadManifest(
  { infrastructure }: TaskContext,
  { account, location, name }: ManifestTarget,
): Promise<CloudManifest | undefined> {
  return infrastructure.manifest({ account, region: location, name, includeEvents: false })
}

function absent(
  { stage, execution, now }: TaskContext,
  target: ManifestTarget,
  absenceMs: number,
  describe: (reason: string) => string,
): StabilityResult {
  const absentSince = numberOf(readNotes(stage.context).absences[keyOf(toShown(target))]) ?? now
  const absentMs = passedMs(execution, absentSince, now) - pausedMs(execution, absentSince, now)
  if (absentMs < absenceMs)
    return { target, kind: 'waiting', message: describe('it does not exist'), absentSince }
  const seconds = Math.round(absenceMs / 1000)
  return {
    target,
    kind: 'failed',
    message: describe(
      target.name.toLowerCase().startsWith('job ')
        ? `it does not exist for ${seconds} s: it was collected before its result was seen, or something has deleted it`
        : `it does not exist for ${seconds} s: something has deleted it`,
    ),
  }
}

interface StatusResult extends Pick<StabilityResult, 'trouble' | 'cause'> {
  readonly kind: StabilityResult['kind']
  readonly message?: string
}

interface StatusRules {
  /** Whether to fail where it is pointless to wait. */
  readonly failFast: boolean
  readonly awaitSuspended: boolean
  readonly strictHealth: boolean
  readonly failOnLastRun: boolean
  readonly now: number
  readonly before: Trouble | undefined
}

function evaluateStatus(
  { status, health, reasons, cause, hopeless }: CloudManifest,
  { failFast, awaitSuspended, strictHealth, failOnLastRun, now, before }: StatusRules,
): StatusResult {
  const { stable, available, failed } = status
  const joined = (first: string) => {
    const sentences = [first, ...reasons, ...status.reasons].map((each) => each.replace(/\.$/, ''))
    return [...new Set(sentences)].join('. ')
  }
  const { state, sentence, reason = '', failsAfterMs, warning } = health
  const trouble =
    failsAfterMs === undefined
      ? undefined
      : { since: before?.reason === reason ? before.since : now, reason }
  const isOver = trouble !== undefined && now - trouble.since >= (failsAfterMs ?? 0)
  if ((failed.state && (trouble === undefined || isOver)) || isOver)
    return { kind: 'failed', message: joined(failed.message ?? sentence ?? 'it failed'), cause }
  if (failOnLastRun && reason === 'LastRunFailed')
    return { kind: 'failed', message: joined(sentence ?? 'its last run failed'), cause }
  const isWanted =
    (awaitSuspended && state === 'suspended') || (strictHealth && state === 'unattended')
  if (stable.state && !isWanted)
    return { kind: 'stable', ...(warning !== undefined && { message: warning }) }
  const isHopeless = hopeless || status.hopeless
  const message = joined(sentence ?? stable.message ?? available.message ?? 'it is not stable yet')
  return {
    kind: isHopeless && failFast ? 'failed' : 'waiting',
    message,
    cause,
    ...(trouble !== undefined && { trouble }),
  }
}
