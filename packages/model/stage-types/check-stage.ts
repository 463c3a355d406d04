/** Comparison of a stage with the description of its type, without running it. */
import { isObject, isTrue, type JsonObject, numberOf } from '@fairlead/base/json/values.ts'
import { nearestFirst, nearestName, shorten } from '@fairlead/base/names/edit-distance.ts'
import { stageFields } from './common.ts'
import { type Field, namesOf, type StageDescription } from './description.ts'
import { secondsOf } from './duration.ts'

export type Occasion = 'save' | 'start' | 'plan'

export interface FieldProblem {
  /** Path from the stage: `capacity.desired`, `clusters[0].credentials`. */
  readonly field: string
  /** A sentence that says how to mend it. */
  readonly message: string
}

/**
 * Values that the engine would reject. Expressions are left alone: their values are known later.
 *
 * @param occasion A start leaves the fields of every stage alone, which the engine can do without; only a plan needs a stage to be
 *   complete.
 */
export function findFieldProblems(
  stage: JsonObject,
  { fields }: Pick<StageDescription, 'fields'>,
  occasion: Occasion,
): FieldProblem[] {
  const common = occasion === 'start' ? [] : stageFields.filter(({ name }) => name !== 'type')
  const runs = !mayBeSkipped(stage)
  const complete = occasion === 'plan' && runs
  return problemsOf(stage, [...common, ...fields], {
    complete,
    rejectsMisspelt: occasion === 'save' && runs,
    path: '',
  })
}

/** Fields that the type does not have, near one that it has and that the stage lacks. They may be meant, and are passed on. */
export function findMisspeltFields(
  stage: JsonObject,
  { fields }: Pick<StageDescription, 'fields'>,
): FieldProblem[] {
  return misspeltIn(stage, [...stageFields, ...fields], '')
}

function misspeltIn(holder: JsonObject, fields: readonly Field[], path: string): FieldProblem[] {
  const own = misspeltKeys(holder, fields).map(([key, meant]) => ({
    field: path + key,
    message: describeMisspelt(path + key, meant),
  }))
  const inner = fields.flatMap(({ name, fields: members }) => {
    if (members === undefined) return []
    const value = holder[name]
    const holders = Array.isArray(value) ? value : [value]
    return holders.flatMap((each, index) =>
      isObject(each)
        ? misspeltIn(each, members, `${path}${name}${Array.isArray(value) ? `[${index}]` : ''}.`)
        : [],
    )
  })
  return [...own, ...inner]
}

/** Keys that are no field, each with the missing field that is meant. */
function misspeltKeys(holder: JsonObject, fields: readonly Field[]): [key: string, meant: Field][] {
  const byName = new Map(fields.flatMap((field) => namesOf(field).map((name) => [name, field])))
  return Object.keys(holder).flatMap((key) => {
    if (key.length < shortestMisspelt || key.length > longestName || byName.has(key)) return []
    // A comment, in files of JSON.
    if (key.startsWith('_')) return []
    const meant = byName.get(nearestName(byName.keys(), key, mostWrongLetters) ?? '')
    return meant === undefined || namesOf(meant).some((name) => isGiven(holder[name]))
      ? []
      : [[key, meant]]
  })
}

function describeMisspelt(written: string, { name }: Field): string {
  return `"${written}" is no field of this stage type. Write "${name}".`
}

/** Too many shorter words are near each other. */
const shortestMisspelt = 5
const longestName = 100
const mostWrongLetters = 2

interface FieldContext {
  readonly complete: boolean
  /** A required field is missing that stands there under a misspelt name. */
  readonly rejectsMisspelt: boolean
  /** Ends with a dot; empty for the stage itself. */
  readonly path: string
}

/** The same of any object with described fields, such as a trigger. */
export function findProblemsIn(holder: JsonObject, fields: readonly Field[]): FieldProblem[] {
  return problemsOf(holder, fields, { complete: true, rejectsMisspelt: false, path: '' })
}

function problemsOf(
  holder: JsonObject,
  fields: readonly Field[],
  place: FieldContext,
): FieldProblem[] {
  // A key that is an expression may become any of them.
  const mayBeSet = Object.keys(holder).some(isExpression)
  const mayLack = !place.complete || mayBeSet
  let misspelt: readonly [key: string, meant: Field][] | undefined
  return fields.flatMap((field) => {
    const name = namesOf(field).find((each) => isGiven(holder[each]))
    if (name !== undefined)
      return name === field.name ? problemsOfValue(holder[name], field, place) : []
    if (field.required && place.rejectsMisspelt && !mayBeSet) {
      misspelt ??= misspeltKeys(holder, fields)
      const [key] = misspelt.find(([, meant]) => meant === field) ?? []
      if (key !== undefined)
        return [{ field: place.path + key, message: describeMisspelt(place.path + key, field) }]
    }
    if (!field.required || mayLack) return []
    const path = place.path + field.name
    return [{ field: path, message: `"${path}" is missing. ${field.help}` }]
  })
}

function problemsOfValue(value: unknown, field: Field, place: FieldContext): FieldProblem[] {
  const { path } = place
  const name = path + field.name
  const wrong = isExpression(value) ? undefined : describeWrong(value, field)
  if (wrong !== undefined) return [{ field: name, message: `"${name}" ${wrong}` }]
  const fields = field.fields ?? field.hiddenFields
  if (fields === undefined) return []
  if (field.kind === 'object' && isObject(value))
    return [
      ...problemsOf(value, fields, { ...place, path: `${name}.` }),
      ...fallsIn(value, field, name),
    ]
  if (field.kind !== 'objects' || !Array.isArray(value)) return []
  return value.flatMap((each, index) =>
    isObject(each) ? problemsOf(each, fields, { ...place, path: `${name}[${index}].` }) : [],
  )
}

/** Undefined when the engine takes the value. */
function describeWrong(value: unknown, field: Field): string | undefined {
  const { kind, choices = [], onlyChoices, rejectsNear, rejected = [] } = field
  if (rejected.includes(String(value).toUpperCase())) return `must not be ${rejected.join(', ')}.`
  switch (kind) {
    case 'number':
    case 'moment':
      return describeNumber(value, numberOf(value), field)
    case 'text':
      return field.form === undefined ? undefined : describeNumber(value, secondsOf(value), field)
    case 'object':
    case 'map':
      return isObject(value) ? undefined : `must be an object, not ${show(value)}.`
    case 'objects': {
      if (!Array.isArray(value)) return `must be a list of objects, not ${show(value)}.`
      const wrong = value.findIndex((each) => !(isObject(each) || isExpression(each)))
      return wrong === -1
        ? undefined
        : `must be a list of objects; entry ${wrong + 1} is ${show(value[wrong])}.`
    }
    case 'choice':
      if (rejectsNear && typeof value === 'string') return describeMisspeltChoice(value, choices)
      if (!onlyChoices || (typeof value === 'string' && choices.includes(value))) return undefined
      return `must be one of ${nearestFirst(choices, String(value)).join(', ')}; it is ${show(value)}.`
    default:
      return undefined
  }
}

/** @param number The value, or the seconds of it */
function describeNumber(
  value: unknown,
  number: number | undefined,
  { form, range = {} }: Field,
): string | undefined {
  const {
    from = Number.NEGATIVE_INFINITY,
    to = Number.POSITIVE_INFINITY,
    above = Number.NEGATIVE_INFINITY,
  } = range
  if (number === undefined)
    return `must be ${form === undefined ? 'a number' : 'a duration such as PT1H30M'}, not ${show(value)}.`
  if (number >= from && number <= to && number > above) return undefined
  const bounds =
    range.above !== undefined
      ? `above ${above}`
      : range.to === undefined
        ? `at least ${from}`
        : `from ${from} to ${to}`
  return `must be ${bounds}; it is ${show(value)}.`
}

function fallsIn(holder: JsonObject, { rising = [] }: Field, path: string): FieldProblem[] {
  const given = rising.flatMap((name) => {
    const number = numberOf(holder[name])
    return number === undefined ? [] : [{ field: `${path}.${name}`, number }]
  })
  return given.flatMap(({ field, number }, index) => {
    const next = given[index + 1]
    return next === undefined || number <= next.number
      ? []
      : [
          {
            field,
            message: `"${field}" must not be above "${next.field}"; they are ${number} and ${next.number}.`,
          },
        ]
  })
}

function describeMisspeltChoice(value: string, choices: readonly string[]): string | undefined {
  if (choices.includes(value.toLowerCase())) return undefined
  const near = nearestName(choices, value)
  return near === undefined || near === ''
    ? undefined
    : `must be one of ${nearestFirst(choices, value).join(', ')}; it is ${show(value)}.`
}

function show(value: unknown): string {
  if (typeof value === 'string') return `"${shorten(value)}"`
  return Array.isArray(value) ? 'a list' : isObject(value) ? 'an object' : String(value)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

export function isExpression(value: unknown): boolean {
  return typeof value === 'string' && value.includes('${')
}

/** A stage whose condition may skip it need not be complete. */
function mayBeSkipped(stage: JsonObject): boolean {
  const condition = stage['stageEnabled']
  return isObject(condition) && !isTrue(condition['expression'])
}
