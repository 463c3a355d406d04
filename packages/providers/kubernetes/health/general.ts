/** States of kinds without a rule: the conditions of kstatus, then what controllers of custom kinds usually write. */
import { shape } from '@fairlead/base/json/shape.ts'
import { numberOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { isBuiltInGroup } from '../kinds.ts'
import type { KubeObject } from '../objects.ts'
import { attached } from './built-in.ts'
import {
  ageOf,
  awaited,
  byCondition,
  type HealthContext,
  type HealthOutcome,
  type HealthSubject,
  healthConditionOf,
  isSet,
  type ObjectState,
  outcome,
  toManaged,
} from './result.ts'
import { parseRule, runRule } from './rule-language.ts'

/** The rules of kstatus, with a time for controllers that have not written yet. */
export function generic(subject: HealthSubject, context: HealthContext): HealthOutcome {
  const { object, status, conditions } = subject
  const first = conditions.find(
    ({ type, status: value }) => value === 'True' && (type === 'Reconciling' || type === 'Stalled'),
  )
  if (first !== undefined)
    return first.type === 'Stalled'
      ? byCondition('failed', first, { final: true })
      : byCondition('progressing', first)
  const ready = healthConditionOf(subject, 'Ready')
  if (ready !== undefined) {
    if (ready.status === 'True') return byCondition('healthy', ready)
    return byCondition('progressing', ready, { isTrouble: ready.status === 'False' })
  }
  const isOwn =
    !object.apiVersion.includes('/') || isBuiltInGroup(object.apiVersion.split('/')[0] ?? '')
  const told = isOwn ? undefined : usual(subject, context)
  if (told !== undefined) return told
  const awaits = context.hasStatus && (!isSet(status) || context.namesConditions === true)
  if (isOwn || !awaits || conditions.length > 0)
    return outcome(
      'healthy',
      conditions.length > 0
        ? 'No condition says otherwise.'
        : 'It exists; its kind reports no state.',
    )
  const isReported = isSet(status)
  const isForeign =
    isReported || managersOf(object).some((manager) => !manager.startsWith('fairlead'))
  const limitMs =
    context.namesConditions === true && !isReported ? context.unattendedMs : context.firstStatusMs
  if (isForeign && ageOf(subject, context) >= limitMs)
    return outcome('healthy', 'It exists; its controller reports no state.')
  return awaited(subject, context, {
    limitMs,
    waits: 'Its controller has not reported a status yet.',
    nobody: 'No controller acts on it: it has no status.',
  })
}

function managersOf({ metadata }: KubeObject): string[] {
  return toManaged(metadata).managedFields.flatMap(({ manager }) => manager ?? [])
}

/** Conditions that operators have instead of `Ready`. */
const usualConditions = parseRule(
  'suspended Suspended|Paused=True; done Succeeded|Complete|Completed|Finished=True; failed Degraded|Failed|Failure|Error|ErrorOccurred=True; ' +
    'failed Valid|Accepted|ResolvedRefs=False; progressing Progressing|Upgrading|Updating|Creating|Provisioning=True & !Available=True; ' +
    'trouble Available|Healthy|Synced|Programmed|Deployed|Established|Reconciled|*Ready=False; ' +
    'progressing Available|Healthy|Synced|Programmed|Deployed|Established|Reconciled|Succeeded|*Ready=Unknown; ' +
    'healthy Available|Healthy=True',
)
const stopped = parseRule('suspended .spec.suspend=true; suspended .spec.paused=true')
const flags = parseRule(
  'failed .status.applied=false; failed .status.valid=false; trouble .status.healthy=false; progressing .status.ready=false',
)

function usual(subject: HealthSubject, context: HealthContext): HealthOutcome | undefined {
  const { status } = subject
  const list = ['parents', 'ancestors'].find((name) => objectsOf(status[name]).length > 0)
  return (
    runRule(stopped, subject) ??
    runRule(usualConditions, subject) ??
    (list === undefined ? undefined : attached(list)(subject, context)) ??
    byWord(subject) ??
    runRule(flags, subject) ??
    byCount(subject)
  )
}

/** Fields of a status that have one word, or a sentence that begins with it. */
const wordFields =
  'phase state status currentState currentStatus lifecycleState jobStatus healthStatus health certificateStatus'.split(
    ' ',
  )
/** The first that fits counts; other words are of something that works. */
const words: readonly (readonly [state: ObjectState, word: RegExp])[] = [
  [
    'failed',
    /^(?:fail|err|invalid|fault|degraded|unhealthy|crash|reject|broken|unavail|abort|red$)/,
  ],
  ['failed', /(?:failed|failure|error)$/],
  ['healthy', /^(?:running|serving|listening|working)$/],
  ['progressing', /ing$|^(?:in_?progress|not_?ready|un_?ready|initial)$/],
  ['done', /^(?:succe|complete|finished|done)/],
  ['suspended', /^(?:paused|suspended|stopped|halted|hibernated|disabled)/],
  ['healthy', /^/],
]

const toSpoken = shape({ phase: textOf, message: [textOf, 'message', 'reason'] })

function byWord({ status }: HealthSubject): HealthOutcome | undefined {
  const of = (name: string) => textOf(status[name]) ?? toSpoken(status[name]).phase
  const name = wordFields.find((each) => of(each)?.trim())
  const text = name === undefined ? '' : (of(name) ?? '').trim()
  const [first = ''] = text.toLowerCase().split(/[^a-z_]/, 1)
  const found = words.find(([, word]) => word.test(first))
  if (found === undefined || name === undefined) return undefined
  const { message } = toSpoken(status)
  const why = message === undefined ? '' : `: ${message}`
  return outcome(found[0], `Its ${name} is ${text}${why}.`)
}

/** Kinds that are scaled. */
function byCount({ spec, status }: HealthSubject): HealthOutcome | undefined {
  const wanted = numberOf(spec['replicas'])
  if (wanted === undefined) return undefined
  for (const name of ['readyReplicas', 'updatedReplicas', 'availableReplicas']) {
    const count = numberOf(status[name])
    if (count !== undefined && count < wanted)
      return outcome('progressing', `${name} is ${count} of ${wanted}.`)
  }
  return undefined
}
