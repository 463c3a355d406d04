/** Comparison of a stage with the description of its type, without running it. */
import { nearestFirst, shorten } from '../edit-distance.ts'
import { isObject, isTrue, type JsonObject, numberOf } from '../json/values.ts'
import { stageFields } from './common.ts'
import type { Field, StageDescription } from './description.ts'

/** What the check is for. */
export type Occasion = 'save' | 'start' | 'plan'

/** What is wrong with a field of a stage. */
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
  const complete = occasion === 'plan' && !mayBeSkipped(stage)
  return problemsOf(stage, [...common, ...fields], { complete, path: '' })
}

interface Place {
  readonly complete: boolean
  /** With its final dot; empty for the stage itself. */
  readonly path: string
}

function problemsOf(holder: JsonObject, fields: readonly Field[], place: Place): FieldProblem[] {
  // A key that is an expression may become any of them.
  const mayLack = !place.complete || Object.keys(holder).some(isExpression)
  return fields.flatMap((field) => {
    const name = [field.name, ...(field.otherNames ?? [])].find((each) => isGiven(holder[each]))
    if (name !== undefined) return name === field.name ? problemsOfValue(holder[name], field, place) : []
    if (!field.required || mayLack) return []
    const path = place.path + field.name
    return [{ field: path, message: `"${path}" is missing. ${field.help}` }]
  })
}

function problemsOfValue(value: unknown, field: Field, { complete, path }: Place): FieldProblem[] {
  const name = path + field.name
  const wrong = isExpression(value) ? undefined : describeWrong(value, field)
  if (wrong !== undefined) return [{ field: name, message: `"${name}" ${wrong}` }]
  const { fields } = field
  if (fields === undefined) return []
  if (field.kind === 'object' && isObject(value)) return problemsOf(value, fields, { complete, path: `${name}.` })
  if (field.kind !== 'objects' || !Array.isArray(value)) return []
  return value.flatMap((each, index) =>
    isObject(each) ? problemsOf(each, fields, { complete, path: `${name}[${index}].` }) : [],
  )
}

/** Undefined when the engine takes the value. */
function describeWrong(value: unknown, { kind, choices = [], onlyChoices, rejected = [] }: Field): string | undefined {
  if (rejected.includes(String(value).toUpperCase())) return `must not be ${rejected.join(', ')}.`
  switch (kind) {
    case 'number':
    case 'moment':
      return numberOf(value) === undefined ? `must be a number, not ${show(value)}.` : undefined
    case 'object':
    case 'map':
      return isObject(value) ? undefined : `must be an object, not ${show(value)}.`
    case 'objects':
      return Array.isArray(value) && value.every((each) => isObject(each) || isExpression(each))
        ? undefined
        : `must be a list of objects, not ${show(value)}.`
    case 'choice':
      if (!onlyChoices || (typeof value === 'string' && choices.includes(value))) return undefined
      return `must be one of ${nearestFirst(choices, String(value)).join(', ')}; it is ${show(value)}.`
    default:
      return undefined
  }
}

function show(value: unknown): string {
  if (typeof value === 'string') return `"${shorten(value)}"`
  return Array.isArray(value) ? 'a list' : isObject(value) ? 'an object' : String(value)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

function isExpression(value: unknown): boolean {
  return typeof value === 'string' && value.includes('${')
}

/** A stage whose condition may skip it need not be complete. */
function mayBeSkipped(stage: JsonObject): boolean {
  const condition = stage['stageEnabled']
  return isObject(condition) && !isTrue(condition['expression'])
}
