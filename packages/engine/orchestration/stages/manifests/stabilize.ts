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
import { deployedNote } from '../infrastructure/notes.ts'
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
  /** Since when objects are missing, by their keys; milliseconds since the epoch. */
  absences: [objectOf, 'manifests.absences'],
  name: [textOf, 'manifest.name'],
  location: [or(textOf, ''), 'manifest.location'],
})

/** Objects of the stage that were stable. */
export function stableIn(context: JsonObject): readonly Shown[] {
  return readNotes(context).stableManifests
}

/** What a look found out about an object. */
interface StabilityVerdict {
  readonly target: ManifestTarget
  readonly kind: 'stable' | 'failed' | 'waiting'
  readonly message?: string
  readonly absentSince?: number
  readonly warnings?: readonly JsonObject[]
  readonly events?: readonly JsonObject[]
}

async function look(context: TaskContext, absenceMs: number): Promise<TaskResult> {
  const { stableManifests, failedManifests } = readNotes(context.stage.context)
  const decided = [...stableManifests, ...failedManifests].map(keyOf)
  const open = targetsOf(context).filter((target) => !decided.includes(keyOf(toShown(target))))
  const verdicts: StabilityVerdict[] = []
  for (let start = 0; start < open.length; start += parallelReads) {
    const part = open.slice(start, start + parallelReads)
    verdicts.push(...(await Promise.all(part.map((target) => judge(context, target, absenceMs)))))
  }
  return conclude(context, verdicts)
}

function conclude(context: TaskContext, verdicts: readonly StabilityVerdict[]): TaskResult {
  const before = readNotes(context.stage.context)
  const of = (kind: StabilityVerdict['kind']) => verdicts.filter((each) => each.kind === kind)
  const shownOf = (kind: StabilityVerdict['kind']) => of(kind).map(({ target }) => toShown(target))
  const messagesOf = (kind: StabilityVerdict['kind']) =>
    of(kind).flatMap(({ message }) => message ?? [])
  const failures = [...before.failures, ...messagesOf('failed')]
  const reasons = messagesOf('waiting')
  const absences = verdicts.flatMap(({ target, absentSince }) =>
    absentSince === undefined ? [] : [[keyOf(toShown(target)), absentSince]],
  )
  const notes = (['warnings', 'events'] as const).flatMap((key) => {
    const found = verdicts.flatMap((verdict) => verdict[key] ?? [])
    return found.length === 0 ? [] : [[key, found]]
  })
  const [first, ...others] = reasons
  const shown = {
    messages: [...failures, ...reasons],
    stableManifests: [...before.stableManifests, ...shownOf('stable')],
    failedManifests: [...before.failedManifests, ...shownOf('failed')],
    'manifests.failures': failures,
    'manifests.absences': absences.length > 0 ? Object.fromEntries(absences) : undefined,
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
    context: { ...shown, exception: failureRecord('ManifestFailed', [failure, ...more]) },
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

async function judge(
  context: TaskContext,
  target: ManifestTarget,
  absenceMs: number,
): Promise<StabilityVerdict> {
  const { includeEvents, failFast } = readFields(stability, context.stage.context)
  const describe = (reason: string) =>
    `'${target.name}' in '${target.location}' for account ${target.account}: ${reason.trim().slice(0, maxReason)}`
  let body: CloudManifest | undefined
  try {
    body = await loadManifest(context, target, includeEvents)
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
  const { kind, message } = judgeStatus(body, failFast)
  return {
    target,
    kind,
    ...(message !== undefined && { message: describe(message) }),
    warnings,
    events,
  }
}

/** The object as it is now; undefined when there is none. */
export function loadManifest(
  { infrastructure }: TaskContext,
  { account, location, name }: ManifestTarget,
  includeEvents = false,
): Promise<CloudManifest | undefined> {
  return infrastructure.manifest({ account, region: location, name, includeEvents })
}

function absent(
  { stage, execution, now }: TaskContext,
  target: ManifestTarget,
  absenceMs: number,
  describe: (reason: string) => string,
): StabilityVerdict {
  const absentSince = numberOf(readNotes(stage.context).absences[keyOf(toShown(target))]) ?? now
  const absentMs = passedMs(execution, absentSince, now) - pausedMs(execution, absentSince, now)
  if (absentMs < absenceMs)
    return { target, kind: 'waiting', message: describe('it does not exist'), absentSince }
  const seconds = Math.round(absenceMs / 1000)
  return {
    target,
    kind: 'failed',
    message: describe(`it does not exist for ${seconds} s: something has deleted it`),
  }
}

/** @param failsFast Whether to fail where it is pointless to wait */
function judgeStatus(
  { status, reasons, hopeless }: CloudManifest,
  failsFast: boolean,
): { kind: StabilityVerdict['kind']; message?: string } {
  const { stable, available, failed } = status
  const joined = (first: string) => {
    const sentences = [first, ...reasons, ...status.reasons].map((each) => each.replace(/\.$/, ''))
    return [...new Set(sentences)].join('. ')
  }
  if (failed.state) return { kind: 'failed', message: joined(failed.message ?? 'it failed') }
  if (stable.state) return { kind: 'stable' }
  const isHopeless = hopeless || status.hopeless
  const message = joined(stable.message ?? available.message ?? 'it is not stable yet')
  return { kind: isHopeless && failsFast ? 'failed' : 'waiting', message }
}
