/** Parameters of a start, compared with those that the pipeline declares. */
import { isObject, isTrue, type JsonObject, listOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { nearestFirst, shorten } from '@fairlead/base/names/edit-distance.ts'

/**
 * What a user has to change in the parameters of a start: one without a value that needs one, or a value that is not offered.
 *
 * @param takesAny Values need not be among the options, which Spinnaker's own services never compare.
 */
export function describeParameterProblem(
  definition: JsonObject,
  given: JsonObject,
  { takesAny = false } = {},
): string | undefined {
  const declared = listOf(definition['parameterConfig']).filter(isObject)
  for (const parameter of declared) {
    const name = String(parameter['name'])
    const value = Object.hasOwn(given, name) ? (given[name] ?? undefined) : undefined
    if (value !== undefined && takesAny) continue
    const problem =
      value === undefined ? describeMissing(parameter, name, declared, given) : describeOption(parameter, name, value)
    if (problem !== undefined) return problem
  }
  return undefined
}

function describeMissing(
  parameter: JsonObject,
  name: string,
  declared: readonly JsonObject[],
  given: JsonObject,
): string | undefined {
  if (parameter['required'] !== true || (parameter['default'] ?? undefined) !== undefined) return undefined
  const sent = Object.keys(given).filter((key) => !declared.some((each) => each['name'] === key))
  const hint =
    sent.length === 0 ? '' : ` There is no parameter "${shorten(nearestFirst(sent, name)[0] as string)}", which was sent.`
  return `The parameter "${name}" is required and has no default. Send it in "parameters".${hint}`
}

/** So many options are named. */
const mostNamed = 20

function describeOption(parameter: JsonObject, name: string, value: unknown): string | undefined {
  if (!isTrue(parameter['hasOptions'])) return undefined
  const options = objectsOf(parameter['options']).flatMap((option) => textOf(option['value']) ?? [])
  const text = String(value)
  const isComputed = text.includes('${') || options.some((option) => option.includes('${'))
  const isEmpty = text === '' && parameter['required'] !== true
  if (options.length === 0 || options.includes(text) || isComputed || isEmpty) return undefined
  const near = nearestFirst(options, text)
  const more = near.length > mostNamed ? ', …' : ''
  return `The parameter "${name}" must be one of ${near.slice(0, mostNamed).join(', ')}${more}; it is "${shorten(text)}".`
}
