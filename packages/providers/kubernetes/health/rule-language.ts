/**
 * The language of rules by kind: `state test; …`, of which the first that holds decides. A test is one or several of these, joined
 * by ` & `: `Ready=True|Unknown:Reason|Reason` is a condition with one of the statuses, and one of the reasons where they are named, `*` any condition,
 * `A|B` one of several and `*Ready` one whose type ends so;
 * `.status.phase=A|B` a field with one of the values, `.status.phase~a|b` one that contains one of the words, `.spec.suspend` one that
 * is set; `@key=value` an annotation; `!` before a field negates it. No test always holds, but for `progressing` of a custom kind without a status. `failed!` is final, `trouble` fails after
 * the grace, `note` warns and goes on.
 */
import { fieldAt, textOf } from '@fairlead/base/json/values.ts'
import { isBuiltInGroup } from '../kinds.ts'
import { valueText } from '../objects.ts'
import {
  byCondition,
  ended,
  type HealthCondition,
  type HealthOutcome,
  type HealthSubject,
  isSet,
  type ObjectState,
  outcome,
  valuesAt,
} from './result.ts'

export interface RuleStep {
  readonly word: string
  readonly tests: readonly Test[]
}

/** Why it holds: a condition, or a sentence; undefined: it does not. */
type Test = (subject: HealthSubject) => HealthCondition | string | undefined

export function parseRule(text: string): RuleStep[] {
  return text
    .split(';')
    .map((step) => step.trim())
    .filter((step) => step !== '')
    .map((step) => {
      const [word = ''] = step.split(' ', 1)
      const tests = step.slice(word.length).split(' & ')
      return { word, tests: tests.filter((each) => each.trim() !== '').map(parseTest) }
    })
}

export function runRule(
  rule: readonly RuleStep[],
  subject: HealthSubject,
): HealthOutcome | undefined {
  let warning: string | undefined
  for (const { word, tests } of rule) {
    const found = tests.map((test) => test(subject))
    if (found.includes(undefined)) continue
    const state = (word === 'trouble' ? 'progressing' : word.replace('!', '')) as ObjectState
    // A controller that has not written anything may not be there at all.
    if (word === 'progressing' && tests.length === 0 && isSilent(subject)) return undefined
    const why = found.find((each) => typeof each === 'object') ?? found[0]
    const more = { final: word.endsWith('!'), isTrouble: word === 'trouble', warning }
    const said =
      typeof why === 'object'
        ? byCondition(state, why, more)
        : outcome(state, why ?? usualSentence(state), more)
    if (word !== 'note') return said
    warning = said.sentence
  }
  return undefined
}

function isSilent({ object, status }: HealthSubject): boolean {
  const [group = '', version] = object.apiVersion.split('/')
  return version !== undefined && !isBuiltInGroup(group) && !isSet(status)
}

function usualSentence(state: ObjectState): string {
  if (state === 'healthy') return 'Nothing is wrong with it.'
  return state === 'suspended' ? 'It waits for a person.' : 'No state has been reported yet.'
}

function parseTest(text: string): Test {
  const written = text.trim()
  if (written.startsWith('!')) {
    const test = parseTest(written.slice(1))
    return (subject) =>
      test(subject) === undefined ? `${written.slice(2)} is not set.` : undefined
  }
  const [, name = '', sign, value = ''] = /^([^=~]+)(?:([=~])(.*))?$/s.exec(written) ?? []
  if (name.startsWith('.')) return fieldTest(name.slice(1), sign, value.split('|'))
  if (name.startsWith('@')) return annotationTest(name.slice(1), sign && value)
  const [statuses = '', reasons] = value.split(':')
  return conditionTest(name, statuses.split('|'), reasons?.split('|'))
}

function conditionTest(
  type: string,
  statuses: readonly string[],
  reasons: readonly string[] | undefined,
): Test {
  const fits = ({ status, reason = '' }: HealthCondition) =>
    statuses.includes(status) && reasons?.includes(reason) !== false
  const types = type.split('|')
  const isOf = (found: string) =>
    types.some((each) => (each.startsWith('*') ? found.endsWith(each.slice(1)) : found === each))
  return ({ conditions }) => conditions.find((each) => isOf(each.type) && fits(each))
}

function fieldTest(name: string, sign: string | undefined, wanted: readonly string[]): Test {
  const path = name.split('.')
  return ({ object, status }) => {
    const found = valuesAt(object, path).find((value) => {
      if (sign === undefined) return isSet(value)
      const text = valueText(value)
      if (text === undefined) return false
      return sign === '=' ? wanted.includes(text) : wanted.some((word) => text.includes(word))
    })
    if (found === undefined) return undefined
    const message =
      textOf(status['message']) ?? textOf(status['phaseReason']) ?? textOf(status['reason'])
    const shown = valueText(found)
    const fact = shown === undefined ? `${name} is set` : `${name} is ${shown}`
    return message === undefined ? `${fact}.` : ended(`${fact}: ${message}`)
  }
}

function annotationTest(key: string, wanted: string | undefined): Test {
  return ({ object }) => {
    const value = valueText(fieldAt(object, 'metadata', 'annotations', key))
    if (value === undefined || (wanted !== undefined && value !== wanted)) return undefined
    return `The annotation ${key} is ${value}.`
  }
}
