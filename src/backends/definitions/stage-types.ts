/** Types of stages, which the embedded engine has to know when it is the one that runs them. */
import { isTrue, type JsonObject, objectsOf } from '../json-values.ts'
import { stageTypes } from '../orchestration/stages/registry.ts'
import { describeUnknownTypes, typesRunElsewhere } from '../orchestration/stages/unknown-types.ts'
import type { Definitions } from './collections.ts'
import { refusal } from './requests.ts'

/**
 * Refuses stages of types that do not exist, and logs those that only the services of Spinnaker run. An external engine may know
 * any type, and a disabled pipeline does not run: both are left alone.
 *
 * @throws {BackendError} 400 with the stages, the types that exist, and what to do
 */
export function checkStageTypes({ context }: Definitions, definition: JsonObject): void {
  if (!context.isEmbedded('orca') || isTrue(definition['disabled'])) return
  const stages = objectsOf(definition['stages'])
  const problem = describeUnknownTypes(stages, stageTypes)
  if (problem !== undefined) throw refusal(problem, [problem])
  const elsewhere = typesRunElsewhere(stages, stageTypes)
  if (elsewhere.length === 0) return
  const { application, name } = definition
  context.log.warn({ application, name, types: elsewhere }, 'a saved pipeline has stages that the embedded engine cannot run')
}
