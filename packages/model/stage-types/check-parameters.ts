/** Parameters of a start, compared with those that the pipeline declares. */
import { list, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { nearestFirst, shorten } from '@fairlead/base/names/edit-distance.ts'

const toParameter = shape({
  name: String,
  default: (value) => value,
  required: (value) => value === true,
  hasOptions: isTrue,
  options: list(shape({ value: textOf })),
})

type Parameter = ShapeOf<typeof toParameter>

const toDeclaring = shape({ parameterConfig: list(toParameter) })

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
  const { parameterConfig: declared } = toDeclaring(definition)
  for (const parameter of declared) {
    const { name } = parameter
    const value = Object.hasOwn(given, name) ? (given[name] ?? undefined) : undefined
    if (value !== undefined && takesAny) continue
    const problem =
      value === undefined
        ? describeMissing(parameter, declared, given)
        : describeOption(parameter, value)
    if (problem !== undefined) return problem
  }
  return undefined
}

function describeMissing(
  { name, required, default: byDefault }: Parameter,
  declared: readonly Parameter[],
  given: JsonObject,
): string | undefined {
  if (!required || byDefault !== undefined) return undefined
  const sent = Object.keys(given).filter((key) => !declared.some((each) => each.name === key))
  const hint =
    sent.length === 0
      ? ''
      : ` There is no parameter "${shorten(nearestFirst(sent, name)[0] as string)}", which was sent.`
  return `The parameter "${name}" is required and has no default. Send it in "parameters".${hint}`
}

/** So many options are named. */
const mostNamed = 20

function describeOption(
  { name, required, hasOptions, options: offered }: Parameter,
  value: unknown,
): string | undefined {
  if (!hasOptions) return undefined
  const options = offered.flatMap((option) => option.value ?? [])
  const text = String(value)
  const isComputed = text.includes('${') || options.some((option) => option.includes('${'))
  const isEmpty = text === '' && !required
  if (options.length === 0 || options.includes(text) || isComputed || isEmpty) return undefined
  const near = nearestFirst(options, text)
  const more = near.length > mostNamed ? ', …' : ''
  return `The parameter "${name}" must be one of ${near.slice(0, mostNamed).join(', ')}${more}; it is "${shorten(text)}".`
}
