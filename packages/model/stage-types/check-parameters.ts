/** Parameters of a start, compared with those that the pipeline declares. */
import { list, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { nearestFirst, nearestName, shorten } from '@fairlead/base/names/edit-distance.ts'

const toParameter = shape({
  name: String,
  default: (value) => value,
  required: (value) => value === true,
  hasOptions: isTrue,
  options: list(shape({ value: textOf })),
})

type Parameter = ShapeOf<typeof toParameter>

const toDeclaring = shape({ parameterConfig: list(toParameter) })

/** A parameter of a start that needs a value and has none. */
export function describeParameterProblem(
  definition: JsonObject,
  given: JsonObject,
): string | undefined {
  const { parameterConfig: declared } = toDeclaring(definition)
  return declared
    .filter(({ name }) => givenOf(given, name) === undefined)
    .map((parameter) => describeMissing(parameter, declared, given))
    .find((problem) => problem !== undefined)
}

/** Values that are none of the options of their parameters, and misspelt parameters. The run gets them as they are, as Spinnaker's do. */
export function describeOtherValues(definition: JsonObject, given: JsonObject): string[] {
  const { parameterConfig: declared } = toDeclaring(definition)
  const names = declared.map(({ name }) => name)
  const misspelt = Object.keys(given).flatMap((key) => {
    const near = names.includes(key) ? undefined : nearestName(names, key)
    return near ? [`There is no parameter "${shorten(key)}". Did you mean "${near}"?`] : []
  })
  const others = declared.flatMap((parameter) => {
    const value = givenOf(given, parameter.name)
    return value === undefined ? [] : (describeOption(parameter, value) ?? [])
  })
  return [...misspelt, ...others]
}

function givenOf(given: JsonObject, name: string): unknown {
  return Object.hasOwn(given, name) ? (given[name] ?? undefined) : undefined
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
  return `The parameter "${name}" is "${shorten(text)}", which is none of its options: ${near.slice(0, mostNamed).join(', ')}${more}.`
}
