/** Checks of stages that the embedded engine could not run, by their types and references. */
import { isTrue, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { describeFieldProblems } from '../orchestration/stages/described-fields.ts'
import { describeUnknownTypes, typesRunElsewhere } from '../orchestration/stages/unknown-types.ts'
import { checkGraph, referencedStages } from '../orchestration/submission/references.ts'
import type { Definitions } from './collections.ts'
import { refusal, refusalOf } from './requests.ts'

/**
 * Refuses stages of types that do not exist, references that would keep every run from starting, and values that their types
 * cannot use; logs types that only the services of Spinnaker run. An external engine may know any type, a disabled pipeline does not
 * run, and the stages of an instance come from its template: they are left alone.
 *
 * @throws {PortError} 400 with the stages, and what to do
 */
export function checkStages({ context, stageTypes }: Definitions, definition: JsonObject): void {
  if (
    context.ports.executions.runsOtherStages ||
    isTrue(definition['disabled']) ||
    definition['type'] === 'templatedPipeline'
  )
    return
  const stages = objectsOf(definition['stages'])
  const problem =
    describeUnknownTypes(stages, stageTypes) ??
    refusalOf(() => checkGraph(referencedStages(stages)))
  if (problem !== undefined) throw refusal(problem, [problem])
  // In one text: clients show the first error of the task that saves.
  const wrong = describeFieldProblems(stages, stageTypes, 'save').join(' ')
  if (wrong !== '') throw refusal(wrong, [wrong])
  const elsewhere = typesRunElsewhere(stages, stageTypes)
  if (elsewhere.length === 0) return
  const { application, name } = definition
  context.log.warn(
    { application, name, types: elsewhere },
    'a saved pipeline has stages that the embedded engine cannot run',
  )
}
