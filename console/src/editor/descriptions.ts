/** Stage types as the API describes them: what forms, checks and completions are made of. */
import { type Json, textOf } from '../model/read.ts'

export interface FieldDescription {
  readonly name: string
  /** text, long-text, number, moment, flag, choice, texts, objects, object, map or json. */
  readonly kind: string
  readonly required: boolean
  readonly default?: unknown
  readonly choices?: readonly string[]
  readonly onlyChoices: boolean
  readonly choicesFrom?: string
  readonly help: string
  /** Whether an expression in it is evaluated when the stage runs. */
  readonly expression: boolean
  readonly otherNames?: readonly string[]
  readonly fields?: readonly FieldDescription[]
}

/** A text that no description lists. */
export function describeText(name: string, rest: Partial<FieldDescription> = {}): FieldDescription {
  return { name, kind: 'text', required: false, onlyChoices: false, expression: true, help: '', ...rest }
}

/** Keys under which it may be set. */
export function namesOf({ name, otherNames = [] }: FieldDescription): readonly string[] {
  return [name, ...otherNames]
}

export interface StageType {
  readonly type: string
  readonly label: string
  readonly group: string
  readonly description: string
  readonly use: 'pipeline' | 'task' | 'both'
  readonly runsHere?: boolean
  readonly reason?: string
  readonly fields: readonly FieldDescription[]
}

/** The schema of the API leaves inner fields open; they are fields like others. */
export interface StageTypes {
  readonly commonFields: readonly FieldDescription[]
  readonly stageTypes: readonly StageType[]
}

/** Describes the type that runs: `alias` names it when `type` is a name of the author's own. */
export function descriptionOf(types: StageTypes | undefined, stage: Json): StageType | undefined {
  const find = (name: unknown) => types?.stageTypes.find(({ type }) => type === textOf(name))
  return find(stage['alias']) ?? find(stage['type'])
}
