/** Starts that change nothing: `plan` asks for the definition as it would run, `dryRun` for stages that do nothing. */
import { isTrue, type JsonObject, objectOf } from '../../json/values.ts'

interface StartMode {
  readonly plan: boolean
  /** Without `plan`, and with `dryRun` in its trigger. */
  readonly body: JsonObject
}

/** Reads both flags of a definition or a task, beside the trigger or in it. */
export function startModeOf(given: JsonObject): StartMode {
  const { plan, body } = takePlan(given)
  const { dryRun, ...rest } = body
  return { plan, body: isTrue(dryRun) ? { ...rest, trigger: { ...objectOf(rest['trigger']), dryRun: true } } : body }
}

/** Reads `plan` of the trigger of a stored pipeline, or of an object around it. */
export function takePlan(given: JsonObject): StartMode {
  const { plan, ...body } = given
  const { plan: inner, ...trigger } = objectOf(body['trigger'])
  if (isTrue(inner)) return { plan: true, body: { ...body, trigger } }
  return isTrue(plan) ? { plan: true, body } : { plan: false, body: given }
}
