/** Fields of the stage types for a place in the text: completions. */
import { type Json, objectOf, textOf } from '../model/read.ts'
import type { TextPlace } from './definition-text.ts'
import { descriptionOf, type FieldDescription, namesOf, type StageTypes } from './descriptions.ts'
import { type Path, valueAt } from './json-path.ts'
import { expectedArtifactFields, generalFields, notificationFields, parameterFields, triggerTypes } from './pipeline-fields.ts'
import { refIdOf, stagesOf, titleOfStage } from './stages.ts'

export interface Suggestion {
  /** What is inserted. */
  readonly value: string | boolean
  /** Beside it: the kind, or a label. */
  readonly detail: string
  readonly help: string
  readonly isRequired?: boolean
}

/** Fields of an item of a list of the definition. */
const itemFields: Readonly<Record<string, (item: Json, types: StageTypes) => readonly FieldDescription[] | undefined>> = {
  stages: (item, types) => {
    const own = descriptionOf(types, item)?.fields ?? []
    return [...own, ...types.commonFields.filter(({ name }) => own.every((field) => field.name !== name))]
  },
  triggers: ({ type }) => triggerTypes.find((known) => known.type === type)?.fields,
  parameterConfig: () => parameterFields,
  notifications: () => notificationFields('pipeline'),
  expectedArtifacts: () => expectedArtifactFields,
}

/** Fields of the object there; undefined where nothing describes them, and where authors choose the names. */
function fieldsAt(types: StageTypes, definition: Json, path: Path): readonly FieldDescription[] | undefined {
  const [list, index, ...inner] = path
  if (list === undefined) return generalFields
  if (typeof index !== 'number') return undefined
  const keys = inner.filter((step) => typeof step === 'string')
  const outer = itemFields[list]?.(objectOf(valueAt(definition, [list, index])), types)
  return keys.reduce((fields, key) => fields?.find((field) => namesOf(field).includes(key))?.fields, outer)
}

/** The field whose value stands there, or of whose list it is an item. */
function fieldAt(types: StageTypes, definition: Json, path: Path): FieldDescription | undefined {
  const at = path.findLastIndex((step) => typeof step === 'string')
  const fields = at < 0 ? [] : fieldsAt(types, definition, path.slice(0, at))
  return fields?.find((field) => namesOf(field).includes(String(path[at])))
}

export function suggestionsAt(types: StageTypes, definition: Json, place: TextPlace): readonly Suggestion[] {
  const { path } = place
  if (isValue(types, definition, place)) return valuesOf(types, definition, path)
  const given = objectOf(valueAt(definition, path))
  return (fieldsAt(types, definition, path) ?? [])
    .filter(({ name }) => given[name] === undefined)
    .map((field) => ({ value: field.name, detail: field.kind, help: describeField(field), isRequired: field.required }))
}

/** An item of a list of texts in YAML looks like a key that is not finished. */
function isValue(types: StageTypes, definition: Json, { path, role }: TextPlace): boolean {
  return role === 'value' || (typeof path.at(-1) === 'number' && fieldAt(types, definition, path)?.kind === 'texts')
}

function valuesOf(types: StageTypes, definition: Json, path: Path): readonly Suggestion[] {
  const [list, index, key] = path
  if (path.length === 3 && key === 'type' && list === 'stages') return typesToOffer(types)
  if (path.length === 3 && key === 'type' && list === 'triggers')
    return triggerTypes.map(({ type, label, description }) => ({ value: type, detail: label, help: description }))
  const field = fieldAt(types, definition, path)
  if (field === undefined) return []
  if (field.choicesFrom === 'stages') return stagesToOffer(definition, index)
  const values = field.kind === 'flag' ? [true, false] : (field.choices ?? [])
  return values.map((value) => ({ value, detail: '', help: describeField(field) }))
}

function typesToOffer({ stageTypes }: StageTypes): readonly Suggestion[] {
  return stageTypes
    .filter(({ use }) => use !== 'task')
    .map(({ type, label, description, reason = '' }) => ({ value: type, detail: label, help: `${description} ${reason}` }))
}

function stagesToOffer(definition: Json, without: unknown): readonly Suggestion[] {
  return stagesOf(definition).flatMap((stage, index) => {
    const value = refIdOf(stage)
    return value === undefined || index === without
      ? []
      : [{ value, detail: titleOfStage(stage), help: textOf(stage['type']) ?? '' }]
  })
}

function describeField({ help, choices, onlyChoices, default: value, expression, otherNames = [] }: FieldDescription): string {
  return [
    help,
    onlyChoices && choices !== undefined && `One of ${choices.join(', ')}.`,
    value !== undefined && `Without it: ${JSON.stringify(value)}.`,
    otherNames.length > 0 && `Also as ${otherNames.join(', ')}.`,
    !expression && 'Expressions in it are not evaluated when the stage begins.',
  ]
    .filter(Boolean)
    .join(' ')
}
