/** Fields of the stage types for a place in the text: completions, and help under the pointer. */
import { type Json, objectOf, textOf } from '../model/read.ts'
import { descriptionOf, type FieldDescription, type StageTypes } from './descriptions.ts'
import { type Path, valueAt } from './json-path.ts'
import { expectedArtifactFields, generalFields, notificationFields, parameterFields, triggerTypes } from './pipeline-fields.ts'
import { refIdOf, stagesOf, titleOfStage } from './stages.ts'
import type { TextPlace } from './text-place.ts'

export interface Suggestion {
  /** What is inserted. */
  readonly value: string | boolean
  /** Beside it: the kind, or a label. */
  readonly detail: string
  readonly help: string
  readonly isRequired?: boolean
}

/** Fields of the object there; undefined where nothing describes them, and where authors choose the names. */
function fieldsAt(types: StageTypes, definition: Json, path: Path): readonly FieldDescription[] | undefined {
  const [list, index, ...inner] = path
  if (list === undefined) return generalFields
  if (typeof index !== 'number') return undefined
  let fields = fieldsOfItem(types, String(list), objectOf(valueAt(definition, [list, index])))
  for (const step of inner) {
    if (typeof step === 'number') continue
    fields = fields?.find((field) => isNamed(field, step))?.fields
  }
  return fields
}

/** Fields of an item of a list of the definition. */
function fieldsOfItem(types: StageTypes, list: string, item: Json): readonly FieldDescription[] | undefined {
  switch (list) {
    case 'stages': {
      const own = descriptionOf(types, item)?.fields ?? []
      const names = new Set(own.map(({ name }) => name))
      return [...own, ...types.commonFields.filter(({ name }) => !names.has(name))]
    }
    case 'triggers':
      return triggerTypes.find(({ type }) => type === item['type'])?.fields
    case 'parameterConfig':
      return parameterFields
    case 'notifications':
      return notificationFields('pipeline')
    case 'expectedArtifacts':
      return expectedArtifactFields
    default:
      return undefined
  }
}

function isNamed({ name, otherNames = [] }: FieldDescription, key: string): boolean {
  return name === key || otherNames.includes(key)
}

/** The field whose value stands there, or of whose list it is an item. */
function fieldAt(types: StageTypes, definition: Json, path: Path): FieldDescription | undefined {
  const keys = path.findLastIndex((step) => typeof step === 'string')
  const key = path[keys]
  if (typeof key !== 'string') return undefined
  return fieldsAt(types, definition, path.slice(0, keys))?.find((field) => isNamed(field, key))
}

export function suggestionsAt(types: StageTypes, definition: Json, { path, role }: TextPlace): readonly Suggestion[] {
  if (role === 'value' || isItemOfTexts(types, definition, { path, role })) return valuesOf(types, definition, path)
  const given = objectOf(valueAt(definition, path))
  return (fieldsAt(types, definition, path) ?? [])
    .filter(({ name }) => given[name] === undefined)
    .map((field) => ({ value: field.name, detail: field.kind, help: describeField(field), isRequired: field.required }))
}

/** The field whose value is written there. */
export function valueFieldAt(
  types: StageTypes,
  definition: Json,
  place: Pick<TextPlace, 'path' | 'role'>,
): FieldDescription | undefined {
  const isValue = place.role === 'value' || isItemOfTexts(types, definition, place)
  return isValue ? fieldAt(types, definition, place.path) : undefined
}

/** An item of a list of texts in YAML looks like a key that is not finished. */
function isItemOfTexts(types: StageTypes, definition: Json, { path, role }: Pick<TextPlace, 'path' | 'role'>): boolean {
  return role === 'key' && typeof path.at(-1) === 'number' && fieldAt(types, definition, path)?.kind === 'texts'
}

function valuesOf(types: StageTypes, definition: Json, path: Path): readonly Suggestion[] {
  if (path.length === 3 && path[2] === 'type') {
    if (path[0] === 'stages') return typesToOffer(types)
    if (path[0] === 'triggers')
      return triggerTypes.map(({ type, label, description }) => ({ value: type, detail: label, help: description }))
  }
  const field = fieldAt(types, definition, path)
  if (field === undefined) return []
  if (field.kind === 'flag') return [true, false].map((value) => ({ value, detail: '', help: describeField(field) }))
  if (field.choicesFrom === 'stages') return stagesToOffer(definition, path)
  return (field.choices ?? []).map((value) => ({ value, detail: '', help: describeField(field) }))
}

function typesToOffer({ stageTypes }: StageTypes): readonly Suggestion[] {
  return stageTypes
    .filter(({ use }) => use !== 'task')
    .map(({ type, label, description, runsHere, reason }) => ({
      value: type,
      detail: label,
      help: runsHere === false ? `${description} ${reason ?? ''}` : description,
    }))
}

function stagesToOffer(definition: Json, path: Path): readonly Suggestion[] {
  return stagesOf(definition).flatMap((stage, index) => {
    const refId = refIdOf(stage)
    return refId === undefined || index === path[1]
      ? []
      : [{ value: refId, detail: titleOfStage(stage), help: textOf(stage['type']) ?? '' }]
  })
}

/** What hovering over a key or a stage type shows. */
export function describeAt(types: StageTypes, definition: Json, path: Path): readonly string[] {
  if (path.length === 3 && path[0] === 'stages' && path[2] === 'type') {
    const found = descriptionOf(types, objectOf(valueAt(definition, path.slice(0, 2))))
    return found === undefined ? [] : [found.label, found.description]
  }
  const field = fieldAt(types, definition, path)
  return field === undefined ? [] : [`${field.name}: ${field.kind}${field.required ? ', required' : ''}`, describeField(field)]
}

function describeField({ help, choices, onlyChoices, default: value, expression, otherNames = [] }: FieldDescription): string {
  return [
    help,
    onlyChoices && choices !== undefined ? `One of ${choices.join(', ')}.` : '',
    value === undefined ? '' : `Without it: ${JSON.stringify(value)}.`,
    otherNames.length === 0 ? '' : `Also as ${otherNames.join(', ')}.`,
    expression ? '' : 'Expressions in it are not evaluated when the stage begins.',
  ]
    .filter((text) => text !== '')
    .join(' ')
}
