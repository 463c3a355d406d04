/** Queries with places for the values of a scope: `${scope}`. */
import { shape } from '@fairlead/base/json/shape.ts'
import { fieldOf, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { MetricError, type MetricQuestion, type MetricScope } from './metric-source.ts'

/** Kayenta stores an inner `${` as `$\{`, so that its own engine leaves it alone. */
const places = /\$\\?\{([^{}]{0,200})\}/g
const nameForm = /^[A-Za-z_][A-Za-z0-9_.-]*$/

const toFilters = shape({
  customFilter: textOf,
  customInlineTemplate: textOf,
  customFilterTemplate: textOf,
})

/** The own text of a query, or that of the named template; undefined without either. @throws {MetricError} */
export function expandedTemplate({ query, templates, scope }: MetricQuestion): string | undefined {
  const { customFilter, customInlineTemplate, customFilterTemplate: name } = toFilters(query)
  if (customFilter !== undefined)
    throw new MetricError('"customFilter" is no longer supported: use "customInlineTemplate".')
  if (customInlineTemplate === undefined && name === undefined) return undefined
  const text = customInlineTemplate ?? textOf(fieldOf(templates, name ?? ''))
  if (text === undefined)
    throw new MetricError(
      `The configuration has no template "${name}". ${describe(Object.keys(templates))}`,
    )
  return fillIn(text, bindingsOf(query, scope))
}

/** @throws {MetricError} for a place without a value */
export function fillIn(text: string, bindings: ReadonlyMap<string, string>): string {
  return text.replaceAll(places, (_, inner: string) => {
    const name = inner.trim()
    const value = bindings.get(name)
    if (value !== undefined) return value
    const reason = nameForm.test(name)
      ? `has no value: set it in "extendedScopeParams"`
      : 'cannot be evaluated: only names are supported'
    throw new MetricError(`\${${name}} in a query ${reason}. ${describe([...bindings.keys()])}`)
  })
}

/** Parameters of the request win over fields of the query, and these over the scope itself. */
export function bindingsOf(query: JsonObject, scope: MetricScope): ReadonlyMap<string, string> {
  const { location, parameters } = scope
  const fromQuery = ['project', 'resourceType', 'scope', 'location'].flatMap((name) => {
    const value = textOf(query[name])
    return value === undefined ? [] : [[name, value] as const]
  })
  return new Map([
    ['scope', scope.scope],
    ...(location === undefined ? [] : ([['location', location]] as const)),
    ['startEpochSeconds', String(Math.floor(scope.startMs / 1000))],
    ['endEpochSeconds', String(Math.floor(scope.endMs / 1000))],
    ['step', String(scope.stepMs / 1000)],
    ...fromQuery,
    ...Object.entries(parameters),
  ])
}

function describe(names: readonly string[]): string {
  return names.length === 0 ? 'There are none.' : `There are ${names.join(', ')}.`
}
