/** Faults of a definition that need not keep it from running, or are there because it is unfinished. */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { findMisspeltFields } from '@fairlead/model/stage-types/check-stage.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { typesOfDefinition } from '../../notifications/warnings.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { parseExpression } from '../expressions/parser.ts'
import { expressionsIn } from '../expressions/template.ts'
import {
  describeFieldProblems,
  descriptionOf,
  stageTitleOf,
  toStageHead,
} from '../stages/described-fields.ts'
import type { StageTypes } from '../stages/stage-type.ts'
import { describeMissingType, typesRunElsewhere } from '../stages/unknown-types.ts'
import { versionOneProblem } from './prepare-pipeline.ts'

/** Sentences of a header. */
const mostWarnings = 10
/** Texts that are looked into. */
const mostTexts = 10_000

const toDefinition = shape({ type: textOf, application: or(textOf, ''), stages: objectsOf })

/** @returns a sentence each, the most useful first; none when nothing is wrong. */
export async function definitionWarnings(
  definition: JsonObject,
  { stageTypes, ports }: Pick<EngineOptions, 'stageTypes' | 'ports'>,
  caller: Caller,
): Promise<string[]> {
  const { type, application, stages: own } = toDefinition(definition)
  const stages = type === 'templatedPipeline' ? [] : own
  const known = await ports.definitions.application(application, caller)
  const warnings = [
    ...(known === undefined ? [`The application "${application}" does not exist.`] : []),
    ...[versionOneProblem(definition) ?? []].flat(),
    ...ports.events.describeUndelivered(typesOfDefinition(definition)),
    ...stages.flatMap((stage, index) =>
      stageWarnings(stage, stageTitleOf(stage, index), stageTypes),
    ),
    ...describeFieldProblems(stages, stageTypes, 'plan'),
  ]
  const more = warnings.length - mostWarnings
  return more <= 0
    ? warnings
    : [...warnings.slice(0, mostWarnings), `There are ${more} more warnings.`]
}

function stageWarnings(stage: JsonObject, place: string, types: StageTypes): string[] {
  if (toStageHead(stage).type === undefined)
    return [`${place} has no "type"; a start is rejected until it has one.`]
  const description = descriptionOf(stage, types)
  const misspelt = description === undefined ? [] : findMisspeltFields(stage, description)
  const elsewhere = typesRunElsewhere([stage], types).map((name) =>
    describeMissingType(name, types),
  )
  const found = [
    ...elsewhere,
    ...misspelt.map(({ message }) => message),
    ...brokenExpressions(stage),
  ]
  return found.map((message) => `${place}: ${message}`)
}

/** What cannot be parsed stays text, which may be meant: scripts of a shell have the same form. */
function brokenExpressions(value: unknown): string[] {
  const broken: string[] = []
  let texts = 0
  const walk = (each: unknown): void => {
    if (typeof each === 'object' && each !== null)
      for (const member of Object.values(each)) walk(member)
    else if (typeof each === 'string' && each.includes('${') && ++texts <= mostTexts) {
      const fault = syntaxFault(each)
      if (fault !== undefined) broken.push(fault)
    }
  }
  walk(value)
  return broken
}

function syntaxFault(text: string): string | undefined {
  try {
    for (const expression of expressionsIn(text)) parseExpression(expression)
    return undefined
  } catch (error) {
    return `"${text.slice(0, 80)}" is no expression and stays as it is: ${(error as Error).message}`
  }
}
