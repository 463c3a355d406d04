/** The health of an object: what holds for every kind, with the rules of kinds (docs/contracts/kubernetes.md#status). */
import { numberOf, objectsOf, textsOf } from '@fairlead/base/json/values.ts'
import { isBuiltInGroup } from '../kinds.ts'
import { annotationOf } from '../manifests/annotations.ts'
import { type KubeObject, millisecondsOf } from '../objects.ts'
import { builtInRules, observedKinds } from './built-in.ts'
import { generic } from './general.ts'
import type { OwnRules } from './own-rules.ts'
import {
  ageOf,
  changedMsOf,
  ended,
  type HealthContext,
  type HealthOutcome,
  type HealthResult,
  type HealthSubject,
  outcome,
  reportedMsOf,
  toHealthSubject,
  trueCondition,
} from './result.ts'
import { ruledOutcome } from './rules.ts'

const exemptions = ['health.fairlead.io/ignore', 'argocd.argoproj.io/ignore-healthcheck']
/** Age of a deletion at which its finalizers are named. */
const deletionMs = 10_000

interface EvaluationContext extends HealthContext {
  /** In order of priority. */
  readonly own?: readonly OwnRules[]
}

export function evaluateHealth(object: KubeObject, context: EvaluationContext): HealthResult {
  const subject = toHealthSubject(object)
  const { final = false, ...found } = decide(subject, context)
  const troubledMs = context.nowMs - (millisecondsOf(found.since) ?? context.nowMs)
  const isOver = found.isTrouble === true && troubledMs >= context.graceMs
  const state = isOver ? 'failed' : found.state
  const isFailing = !final && (found.isTrouble === true || state === 'failed')
  return {
    ...found,
    state,
    final,
    observedGeneration: numberOf(subject.status['observedGeneration']),
    failsAfterMs: isFailing ? context.graceMs : undefined,
  }
}

function decide(subject: HealthSubject, context: EvaluationContext): HealthOutcome {
  const { object } = subject
  const [group = '', version] = object.apiVersion.split('/')
  const key = `${version === undefined ? '' : group}/${object.kind}`
  // A job that is collected keeps its end.
  const isOver =
    key === 'batch/Job' &&
    ['Complete', 'Failed'].some((type) => trueCondition(subject, type) !== undefined)
  if (object.metadata.deletionTimestamp !== undefined && !isOver)
    return terminating(subject, context)
  if (exemptions.some((name) => annotationOf(object, name) === 'true'))
    return outcome('healthy', 'It is exempt from health checks by an annotation.')
  if (/^(?:apps\/(?!v1$)|extensions\/)/.test(object.apiVersion))
    return outcome(
      'unknown',
      `Its state cannot be read in the version ${object.apiVersion}; use apps/v1.`,
    )
  return (
    unobserved(subject, key) ??
    ownOutcome(object, context) ??
    unreported(subject, context) ??
    ruledOutcome(subject) ??
    builtInRules[key]?.(subject, context) ??
    generic(subject, context)
  )
}

function ownOutcome(
  object: KubeObject,
  { own = [], nowMs }: EvaluationContext,
): HealthOutcome | undefined {
  for (const rules of own) {
    const found = rules.outcomeOf(object, nowMs)
    if (found !== undefined) return found
  }
  return undefined
}

function terminating(
  { object, ...subject }: HealthSubject,
  { nowMs }: HealthContext,
): HealthOutcome {
  const { deletionTimestamp: since, finalizers } = object.metadata
  const left = [
    'NamespaceDeletionDiscoveryFailure',
    'NamespaceContentRemaining',
    'NamespaceFinalizersRemaining',
  ]
    .map((type) => trueCondition({ object, ...subject }, type)?.message)
    .filter((message) => message !== undefined)
  const held = [...textsOf(finalizers), ...textsOf(subject.spec['finalizers'])]
  const isLate = nowMs - (millisecondsOf(since) ?? nowMs) >= deletionMs
  const why =
    left.length > 0
      ? `: ${ended(left.join(' '))}`
      : isLate && held.length > 0
        ? `; it is held by the finalizer ${held.join(', ')}, whose controller has not removed it.`
        : '.'
  return outcome('terminating', `It is being deleted${why}`, { since })
}

/** Its controller has not seen the last change of its specification. */
function unobserved({ object, status }: HealthSubject, key: string): HealthOutcome | undefined {
  const { generation } = object.metadata
  const observed = numberOf(status['observedGeneration'])
  if (observed === undefined)
    return observedKinds.has(key)
      ? outcome('progressing', 'No status has been reported yet.')
      : undefined
  return generation === undefined || observed === generation
    ? undefined
    : outcome('progressing', `Its controller has seen generation ${observed}, not ${generation}.`, {
        isAvailable: true,
      })
}

/** A status without a generation that is older than the last change says nothing about it. */
function unreported(subject: HealthSubject, context: HealthContext): HealthOutcome | undefined {
  const { object, status } = subject
  if (isBuiltInGroup(object.apiVersion.split('/')[0] ?? '') || !object.apiVersion.includes('/'))
    return undefined
  const isDated =
    status['observedGeneration'] !== undefined ||
    objectsOf(status['conditions']).some((each) => each['observedGeneration'] !== undefined)
  // Of conditions that are all old, others will follow.
  const isOld = objectsOf(status['conditions']).length > 0 && subject.conditions.length === 0
  if (isDated)
    return isOld && ageOf(subject, context) < context.unattendedMs
      ? outcome('progressing', 'Its conditions are those of an earlier generation.')
      : undefined
  const [reportedMs = Infinity, changedMs = 0] = [reportedMsOf(object), changedMsOf(object)]
  return reportedMs < changedMs && ageOf(subject, context) < context.firstStatusMs
    ? outcome('progressing', 'Its controller has not reported since the last change.')
    : undefined
}
