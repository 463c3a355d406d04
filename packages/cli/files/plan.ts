/** The changes that make an instance what files say, in the order in which they can be made. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { fileKinds } from '@fairlead/model/definition-files/file-kinds.ts'
import { type Definition, keyOf, titleOf } from './definition.ts'
import { type Difference, differencesOf, formatDifference } from './differences.ts'
import { referencesIn } from './references.ts'

export interface Change {
  readonly action: 'create' | 'change' | 'delete'
  readonly definition: Definition
  /** Empty unless it is changed. */
  readonly differences: readonly Difference[]
}

/**
 * @param wanted As in files
 * @param present As the instance has them, with names in place of ids
 * @param surplus Of those, what is deleted
 */
export function planOf(
  wanted: readonly Definition[],
  present: readonly Definition[],
  surplus: readonly Definition[],
): Change[] {
  const found = new Map(present.map((definition) => [keyOf(definition), definition]))
  const changes = wanted.flatMap((definition): Change[] => {
    const current = found.get(keyOf(definition))
    if (current === undefined) return [{ action: 'create', definition, differences: [] }]
    const differences = differencesOf(comparedWith(definition, current), definition.document)
    return differences.length === 0 ? [] : [{ action: 'change', definition, differences }]
  })
  const rank = ({ definition }: Change) => fileKinds.indexOf(definition.kind)
  const deletions = surplus.map(
    (definition): Change => ({
      action: 'delete',
      definition,
      differences: [],
    }),
  )
  return [
    ...referredFirst(changes.toSorted((one, other) => rank(one) - rank(other))),
    // What refers to others goes first.
    ...deletions.toSorted((one, other) => rank(other) - rank(one)),
  ]
}

/** Without what a file cannot say, or does not: an application keeps attributes that its file does not have. */
function comparedWith({ kind, document }: Definition, current: Definition): JsonObject {
  // The case of a name of an application says nothing.
  const compared = { ...current.document, application: document['application'] }
  if (kind !== 'application') return compared
  return Object.fromEntries(Object.entries(compared).filter(([key]) => key in document))
}

/** Each after what it refers to, as far as they do not refer to each other in a circle. */
function referredFirst(changes: readonly Change[]): Change[] {
  const byKey = new Map(changes.map((change) => [keyOf(change.definition), change]))
  const ordered = new Set<Change>()
  const visited = new Set<Change>()
  const visit = (change: Change) => {
    if (visited.has(change)) return
    visited.add(change)
    for (const reference of referencesIn(change.definition.document)) {
      const referred = byKey.get(keyOf(reference))
      if (referred !== undefined) visit(referred)
    }
    ordered.add(change)
  }
  changes.forEach(visit)
  return [...ordered]
}

const signs = { create: '+', change: '~', delete: '-' } as const

export function formatPlan(changes: readonly Change[]): string[] {
  if (changes.length === 0) return ['No differences.']
  const lines = changes.flatMap(({ action, definition, differences }) => [
    `${signs[action]} ${titleOf(definition)}${definition.file === undefined ? '' : ` (${definition.file})`}`,
    ...differences.map((difference) => `    ${formatDifference(difference)}`),
  ])
  const counts = (['create', 'change', 'delete'] as const).map(
    (action) => `${changes.filter((each) => each.action === action).length} to ${action}`,
  )
  return [...lines, `${counts.join(', ')}.`]
}

/** JSON for programs. */
export function toPlanDocument(changes: readonly Change[]) {
  return changes.map(({ action, definition: { kind, application, name, file }, differences }) => ({
    action,
    kind,
    application,
    name,
    file,
    differences,
  }))
}
