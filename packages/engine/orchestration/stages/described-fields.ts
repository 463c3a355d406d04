/** Fields of the stages of a definition, checked against the descriptions of their types. */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import {
  type FieldProblem,
  findFieldProblems,
  type Occasion,
} from '@fairlead/model/stage-types/check-stage.ts'
import type { StageDescription } from '@fairlead/model/stage-types/description.ts'
import { withProvider } from '../submission/references.ts'
import { type StageTypes, stageTypeOf } from './stage-type.ts'

/** Problems that a message holds. */
const mostProblems = 20

/** What is wrong with the fields, a sentence for each that names stage and field. Stages of unknown types are left alone. */
export function describeFieldProblems(
  stages: readonly JsonObject[],
  types: StageTypes,
  occasion: Occasion,
): string[] {
  const problems = stages.flatMap((stage, index) => {
    const place = stageTitleOf(stage, index)
    return fieldProblemsOf(stage, types, occasion).map(({ message }) => `${place}: ${message}`)
  })
  const more = problems.length - mostProblems
  return more <= 0
    ? problems
    : [...problems.slice(0, mostProblems), `${more} more fields have problems.`]
}

export const toStageHead = shape({ type: textOf, name: textOf })

function stageTitleOf(stage: JsonObject, index: number): string {
  const { name } = toStageHead(stage)
  return name === undefined ? `Stage ${index + 1}` : `Stage "${shorten(name)}"`
}

/** Description of the type that implements the stage; undefined when the engine does not know it. */
export function descriptionOf(stage: JsonObject, types: StageTypes): StageDescription | undefined {
  const { type } = toStageHead(stage)
  if (type === undefined) return undefined
  return stageTypeOf(types, { type: withProvider(type, stage['providerType']), context: stage })
    ?.description
}

/** None for a stage of an unknown type. */
export function fieldProblemsOf(
  stage: JsonObject,
  types: StageTypes,
  occasion: Occasion,
): FieldProblem[] {
  const description = descriptionOf(stage, types)
  return description === undefined ? [] : findFieldProblems(stage, description, occasion)
}
