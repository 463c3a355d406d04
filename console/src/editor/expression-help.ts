/** What can be written in an expression of a definition: functions, names, parameters, variables of stages. */
import { type Json, objectsOf, textOf } from '../model/read.ts'
import type { Suggestion } from './field-help.ts'
import { stagesOf, titleOfStage } from './stages.ts'

export interface ExpressionFunction {
  readonly name: string
  readonly description?: string | null | undefined
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
  { value: 'deployedServerGroups', detail: '', help: 'Server groups that stages before have deployed.' },
]

export function expressionSuggestions(definition: Json, functions: readonly ExpressionFunction[]): readonly Suggestion[] {
  const parameters = objectsOf(definition['parameterConfig']).flatMap(({ name, description }) =>
    textOf(name) === undefined ? [] : [{ value: `parameters.${name}`, detail: 'parameter', help: textOf(description) ?? '' }],
  )
  const setters = stagesOf(definition).filter(({ type }) => type === 'evaluateVariables')
  const variables = setters.flatMap((stage) =>
    objectsOf(stage['variables']).flatMap(({ key, value }) =>
      textOf(key) === undefined ? [] : [{ value: String(key), detail: titleOfStage(stage), help: textOf(value) ?? '' }],
    ),
  )
  const called = functions.map(({ name, description }) => ({ value: `#${name}(`, detail: 'function', help: description ?? '' }))
  return [...parameters, ...variables, ...names, ...called]
}

/** Those that begin with the word, before those that contain it. */
export function matchingSuggestions(
  definition: Json,
  functions: readonly ExpressionFunction[],
  word: string,
): readonly Suggestion[] {
  const at = ({ value }: Suggestion) => String(value).toLowerCase().indexOf(word.toLowerCase())
  return expressionSuggestions(definition, functions)
    .filter((suggestion) => at(suggestion) >= 0)
    .toSorted((a, b) => Number(at(a) > 0) - Number(at(b) > 0))
}
