/** Completions: fields for a place in the text, and names in an expression. */

import { type JsonObject, objectOf, objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { namesOf } from '@fairlead/model/stage-types/description.ts'
import {
  expectedArtifactFields,
  notificationFields,
  pipelineFields,
  pipelineParameterFields,
  triggerTypes,
} from '@fairlead/model/stage-types/pipeline-parts.ts'
import type { TextPlace } from './definition-text.ts'
import { type Path, valueAt } from './json-path.ts'
import {
  descriptionOf,
  type FieldDescription,
  refIdOf,
  type StageTypes,
  stagesOf,
  titleOfStage,
} from './stages.ts'

export interface Suggestion {
  /** What is inserted. */
  readonly value: string | boolean
  /** Beside it: the kind, or a label. */
  readonly detail: string
  readonly help: string
  readonly isRequired?: boolean
}

/** Fields of the object there; undefined where nothing describes them, and where authors choose the names. */
function fieldsAt(
  types: StageTypes,
  definition: JsonObject,
  path: Path,
): readonly FieldDescription[] | undefined {
  const [list, index, ...inner] = path
  if (list === undefined) return pipelineFields
  if (typeof index !== 'number') return undefined
  const item = objectOf(valueAt(definition, [list, index]))
  const own = descriptionOf(types, item)?.fields ?? []
  const fields: Readonly<Record<string, readonly FieldDescription[] | undefined>> = {
    stages: [
      ...own,
      ...types.commonFields.filter(({ name }) => own.every((field) => field.name !== name)),
    ],
    triggers: triggerTypes.find(({ type }) => type === item['type'])?.fields,
    parameterConfig: pipelineParameterFields,
    notifications: notificationFields('pipeline'),
    expectedArtifacts: expectedArtifactFields,
  }
  const keys = inner.filter((step) => typeof step === 'string')
  return keys.reduce(
    (outer, key) => outer?.find((field) => namesOf(field).includes(key))?.fields,
    fields[list],
  )
}

export function suggestionsAt(
  types: StageTypes,
  definition: JsonObject,
  { path, role }: TextPlace,
): readonly Suggestion[] {
  // The field whose value stands there, or of whose list it is an item.
  const at = path.findLastIndex((step) => typeof step === 'string')
  const holders = at < 0 ? [] : fieldsAt(types, definition, path.slice(0, at))
  const field = holders?.find((each) => namesOf(each).includes(String(path[at])))
  // An item of a list of texts in YAML looks like a key that is not finished.
  const isItem = typeof path.at(-1) === 'number' && field?.kind === 'texts'
  if (role === 'value' || isItem) return valuesOf(types, definition, path, field)
  const given = objectOf(valueAt(definition, path))
  return (fieldsAt(types, definition, path) ?? [])
    .filter(({ name }) => given[name] === undefined)
    .map((each) => ({
      value: each.name,
      detail: each.kind,
      help: describeField(each),
      isRequired: each.required,
    }))
}

function valuesOf(
  { stageTypes }: StageTypes,
  definition: JsonObject,
  path: Path,
  field: FieldDescription | undefined,
) {
  const [list, at, key] = path
  const isType = path.length === 3 && key === 'type'
  if (isType && list === 'stages')
    return stageTypes
      .filter(({ use }) => use !== 'task')
      .map(({ type, label, description, reason = '' }) => ({
        value: type,
        detail: label,
        help: `${description} ${reason}`,
      }))
  if (isType && list === 'triggers')
    return triggerTypes.map(({ type, label, description }) => ({
      value: type,
      detail: label,
      help: description,
    }))
  if (field?.choicesFrom === 'stages')
    return stagesOf(definition).flatMap((stage, index) => {
      const value = index === at ? undefined : refIdOf(stage)
      return value === undefined
        ? []
        : [{ value, detail: titleOfStage(stage), help: scalarOf(stage['type']) ?? '' }]
    })
  const values = field?.kind === 'flag' ? [true, false] : (field?.choices ?? [])
  return values.map((value) => ({
    value,
    detail: '',
    help: field === undefined ? '' : describeField(field),
  }))
}

function describeField({
  help,
  choices,
  onlyChoices,
  default: usual,
  otherNames = [],
}: FieldDescription) {
  const parts = [
    help,
    onlyChoices && choices !== undefined && `One of ${choices.join(', ')}.`,
    usual !== undefined && `Without it: ${JSON.stringify(usual)}.`,
    otherNames.length > 0 && `Also as ${otherNames.join(', ')}.`,
  ]
  return parts.filter(Boolean).join(' ')
}

export interface ExpressionFunction {
  readonly name: string
  readonly description?: string | null
}

/** Where the word begins that is typed in an expression that is not closed yet; undefined outside of expressions. */
export function wordInExpression(line: string): number | undefined {
  const opened = line.lastIndexOf('${')
  if (opened < 0 || line.includes('}', opened)) return undefined
  const word = /#?[A-Za-z_][\w.]*$|#$/.exec(line.slice(opened + 2))?.[0] ?? ''
  return line.length - word.length
}

const names: readonly Suggestion[] = [
  { value: 'parameters', detail: '', help: 'Values of the parameters.' },
  { value: 'trigger', detail: '', help: 'What started the run: type, user, payload, artifacts.' },
  { value: 'execution', detail: '', help: 'The run itself, with its stages.' },
  {
    value: 'deployedServerGroups',
    detail: '',
    help: 'Server groups that stages before have deployed.',
  },
]

export function expressionSuggestions(
  definition: JsonObject,
  functions: readonly ExpressionFunction[],
): readonly Suggestion[] {
  const parameters = objectsOf(definition['parameterConfig']).flatMap(({ name, description }) =>
    scalarOf(name) === undefined
      ? []
      : [{ value: `parameters.${name}`, detail: 'parameter', help: scalarOf(description) ?? '' }],
  )
  const setters = stagesOf(definition).filter(({ type }) => type === 'evaluateVariables')
  const variables = setters.flatMap((stage) =>
    objectsOf(stage['variables']).flatMap(({ key, value }) =>
      scalarOf(key) === undefined
        ? []
        : [{ value: String(key), detail: titleOfStage(stage), help: scalarOf(value) ?? '' }],
    ),
  )
  const called = functions.map(({ name, description }) => ({
    value: `#${name}(`,
    detail: 'function',
    help: description ?? '',
  }))
  return [...parameters, ...variables, ...names, ...called]
}

/** Suggestions that begin with the word, before those that contain it. */
export function matchingSuggestions(
  definition: JsonObject,
  functions: readonly ExpressionFunction[],
  word: string,
): readonly Suggestion[] {
  const at = ({ value }: Suggestion) => String(value).toLowerCase().indexOf(word.toLowerCase())
  return expressionSuggestions(definition, functions)
    .filter((suggestion) => at(suggestion) >= 0)
    .toSorted((a, b) => Number(at(a) > 0) - Number(at(b) > 0))
}
