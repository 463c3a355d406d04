/** Label selectors of operations, for the API server and for manifests that are not deployed yet. */
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { listOf, textOf } from '@fairlead/base/json/values.ts'
import { toLabels } from '../objects.ts'

interface SelectorRequirement {
  readonly text: string
  matches(value: string | undefined): boolean
  readonly key: string
}

interface LabelSelector {
  /** Empty: it selects everything. */
  readonly text: string
  matches(labels: Readonly<Record<string, unknown>>): boolean
}

const keyPattern =
  /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/
const valuePattern = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/

const toSelectors = shape({
  selectors: list(shape({ kind: or(textOf, ''), key: or(textOf, ''), values: listOf })),
})
type Selector = ReturnType<typeof toSelectors>['selectors'][number]

/**
 * Parses `{selectors: [{kind, key, values}]}`, which must all hold.
 *
 * @throws {Error} for a selector that cannot be understood: leaving one out would select more than is meant
 */
export function parseSelectors(labelSelectors: unknown): LabelSelector {
  const requirements = toSelectors(labelSelectors).selectors.flatMap(
    (selector) => parseSelector(selector) ?? [],
  )
  return {
    text: requirements.map(({ text }) => text).join(','),
    matches: (labels) =>
      requirements.every(({ key, matches }) => {
        const value: unknown = Object.hasOwn(labels, key) ? labels[key] : undefined
        return matches(value === undefined || value === null ? undefined : String(value))
      }),
  }
}

export function hasSelectors(labelSelectors: unknown): boolean {
  return toSelectors(labelSelectors).selectors.length > 0
}

/** Undefined: it holds for everything. */
function parseSelector({
  kind: given,
  key,
  values: listed,
}: Selector): SelectorRequirement | undefined {
  const kind = given.toUpperCase()
  if (kind === 'ANY') return undefined
  const values = listed.map(String)
  if (!keyPattern.test(key)) throw new Error(`labelSelectors: "${key}" is not the key of a label.`)
  const wrong = values.find((value) => !valuePattern.test(value))
  if (wrong !== undefined)
    throw new Error(`labelSelectors: "${wrong}" is not the value of a label.`)
  const [first] = values
  const needsValue = () => {
    if (first === undefined)
      throw new Error(`labelSelectors: ${kind} of the label ${key} needs a value.`)
    return first
  }
  const of = (text: string, matches: SelectorRequirement['matches']): SelectorRequirement => ({
    key,
    text,
    matches,
  })
  switch (kind) {
    case 'EQUALS':
      return of(`${key}=${needsValue()}`, (value) => value === first)
    case 'NOT_EQUALS':
      return of(`${key}!=${needsValue()}`, (value) => value !== first)
    case 'CONTAINS':
      needsValue()
      return of(
        `${key} in (${values.join(',')})`,
        (value) => value !== undefined && values.includes(value),
      )
    case 'NOT_CONTAINS':
      needsValue()
      return of(
        `${key} notin (${values.join(',')})`,
        (value) => value === undefined || !values.includes(value),
      )
    case 'EXISTS':
      return of(key, (value) => value !== undefined)
    case 'NOT_EXISTS':
      return of(`!${key}`, (value) => value === undefined)
    default:
      throw new Error(
        `labelSelectors: the kind "${kind}" is none of ANY, EQUALS, NOT_EQUALS, CONTAINS, NOT_CONTAINS, EXISTS, NOT_EXISTS.`,
      )
  }
}

const toSelecting = shape({ selector: shape({ matchLabels: toLabels }) })

/** Reads `matchLabels` of a workload like the API server; undefined where it has others, or none. */
export function matchLabelsOf(spec: unknown): string | undefined {
  const { matchLabels } = toSelecting(spec).selector
  const pairs = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
  return pairs.length === 0 ? undefined : pairs.join(',')
}
