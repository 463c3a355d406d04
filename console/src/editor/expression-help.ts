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

const names: Readonly<Record<string, string>> = {
  parameters: 'Values of the parameters.',
  trigger: 'What started the run: type, user, payload, artifacts.',
  execution: 'The run itself, with its stages.',
  deployedServerGroups: 'Server groups that stages before have deployed.',
}

export function expressionSuggestions(definition: Json, functions: readonly ExpressionFunction[]): readonly Suggestion[] {
  const parameters = objectsOf(definition['parameterConfig']).flatMap(({ name, description }): Suggestion[] =>
    textOf(name) === undefined ? [] : [{ value: `parameters.${name}`, detail: 'parameter', help: textOf(description) ?? '' }],
  )
  const variables = stagesOf(definition).flatMap((stage) =>
    objectsOf(stage['type'] === 'evaluateVariables' ? stage['variables'] : []).flatMap(({ key, value }): Suggestion[] => {
      const name = textOf(key)
      return name === undefined ? [] : [{ value: name, detail: titleOfStage(stage), help: textOf(value) ?? '' }]
    }),
  )
  return [
    ...parameters,
    ...variables,
    ...Object.entries(names).map(([value, help]) => ({ value, detail: '', help })),
    ...functions.map(({ name, description }) => ({ value: `#${name}(`, detail: 'function', help: description ?? '' })),
  ]
}

/** Those that begin with the word, before those that contain it. */
export function matchingSuggestions(
  definition: Json,
  functions: readonly ExpressionFunction[],
  word: string,
): readonly Suggestion[] {
  const wanted = word.toLowerCase()
  const found = expressionSuggestions(definition, functions).filter(({ value }) => String(value).toLowerCase().includes(wanted))
  const begins = ({ value }: Suggestion) => String(value).toLowerCase().startsWith(wanted)
  return [...found.filter(begins), ...found.filter((suggestion) => !begins(suggestion))]
}
