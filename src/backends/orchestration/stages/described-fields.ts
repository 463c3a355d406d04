/** Fields of the stages of a definition, checked against the descriptions of their types. */
import { shorten } from '../../../edit-distance.ts'
import { type JsonObject, textOf } from '../../../json/values.ts'
import { findFieldProblems, type Occasion } from '../../../stage-types/check-stage.ts'
import { withProvider } from '../submission/references.ts'
import { type StageTypes, stageTypeOf } from './stage-type.ts'

/** Problems that a message holds. */
const mostProblems = 20

/** What is wrong with the fields, a sentence for each that names stage and field. Stages of unknown types are left alone. */
export function describeFieldProblems(stages: readonly JsonObject[], types: StageTypes, occasion: Occasion): string[] {
  const problems = stages.flatMap((stage, index) => {
    const description = descriptionOf(stage, types)
    if (description === undefined) return []
    const name = textOf(stage['name'])
    const place = name === undefined ? `Stage ${index + 1}` : `Stage "${shorten(name)}"`
    const found = findFieldProblems(stage, description, occasion)
    return found.map(({ message }) => `${place}: ${message}`)
  })
  const more = problems.length - mostProblems
  return more <= 0 ? problems : [...problems.slice(0, mostProblems), `${more} more fields have problems.`]
}

function descriptionOf(stage: JsonObject, types: StageTypes) {
  const type = textOf(stage['type'])
  if (type === undefined) return undefined
  return stageTypeOf(types, { type: withProvider(type, stage['providerType']), context: stage })?.description
}
