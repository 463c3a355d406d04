/** How the stages of an execution refer to each other: their order, what leads to what, and what is alike. It changes with a restart at most. */

interface Linked {
  readonly id: string
  readonly refId?: string | null
  readonly requisiteStageRefIds?: readonly string[] | null
}

export interface StageLinks {
  /** Places in the list of stages, each after those that it requires; equals in the order of the list. */
  readonly order: readonly number[]
  /** From stage to stage, by id; a missing requisite has an id of its own. */
  readonly pairs: readonly (readonly [from: string, to: string])[]
  readonly missing: readonly { readonly id: string; readonly ref: string }[]
  readonly before: ReadonlyMap<string, readonly string[]>
  readonly after: ReadonlyMap<string, readonly string[]>
  /** Ids of stages between the same stages. */
  readonly siblings: readonly (readonly string[])[]
  /** Ids of stages of which each is the only one before the next, and the next the only one after it. */
  readonly rows: readonly (readonly string[])[]
}

let last: { readonly key: string; readonly links: StageLinks } | undefined

/** The same object as long as the stages refer to each other in the same way: an open execution is read every few seconds. */
export function linksOf(stages: readonly Linked[]): StageLinks {
  const key = JSON.stringify(stages.map(({ id, refId, requisiteStageRefIds }) => [id, refId, requisiteStageRefIds]))
  if (last?.key !== key) last = { key, links: toLinks(stages) }
  return last.links
}

function toLinks(stages: readonly Linked[]): StageLinks {
  const order = orderOf(stages)
  const ordered = order.flatMap((at) => stages[at] ?? [])
  const byRef = new Map(ordered.flatMap(({ refId, id }) => (refId ? [[refId, id] as const] : [])))
  const missing = new Map<string, string>()
  const pairs = ordered.flatMap(({ id, requisiteStageRefIds }) =>
    [...new Set(requisiteStageRefIds ?? [])].map((ref) => {
      const from = byRef.get(ref)
      if (from !== undefined) return [from, id] as const
      missing.set(ref, `missing:${ref}`)
      return [`missing:${ref}`, id] as const
    }),
  )
  const before = collect(pairs, 1)
  const after = collect(pairs, 0)
  const ids = ordered.map(({ id }) => id)
  const alike = Map.groupBy(ids, (id) => JSON.stringify([before, after].map((found) => (found.get(id) ?? []).toSorted())))
  return {
    order,
    pairs,
    missing: [...missing].map(([ref, id]) => ({ id, ref })),
    before,
    after,
    siblings: [...alike.values()].filter(({ length }) => length > 1),
    rows: rowsOf(ids, before, after),
  }
}

function collect(pairs: StageLinks['pairs'], from: 0 | 1): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const pair of pairs) {
    const others = found.get(pair[from])
    const other = pair[from === 0 ? 1 : 0]
    if (others === undefined) found.set(pair[from], [other])
    else others.push(other)
  }
  return found
}

/** Level by level, each in the order of the definition. A circle or a missing requisite costs the order, not the list. */
function orderOf(stages: readonly Linked[]): readonly number[] {
  const byRef = new Map(stages.flatMap(({ refId }, at) => (refId ? [[refId, at] as const] : [])))
  const followers = new Map<number, number[]>()
  const open = stages.map(({ requisiteStageRefIds }, at) => {
    const requisites = new Set((requisiteStageRefIds ?? []).flatMap((ref) => byRef.get(ref) ?? []))
    for (const requisite of requisites) {
      const known = followers.get(requisite)
      if (known === undefined) followers.set(requisite, [at])
      else known.push(at)
    }
    return requisites.size
  })
  const ordered: number[] = []
  let level = [...stages.keys()].filter((at) => open[at] === 0)
  while (level.length > 0) {
    ordered.push(...level)
    const next: number[] = []
    for (const follower of level.flatMap((at) => followers.get(at) ?? [])) {
      const left = (open[follower] ?? 0) - 1
      open[follower] = left
      if (left === 0) next.push(follower)
    }
    level = next.sort((a, b) => a - b)
  }
  return ordered.length === stages.length ? ordered : [...ordered, ...[...stages.keys()].filter((at) => (open[at] ?? 0) > 0)]
}

function rowsOf(ids: readonly string[], before: StageLinks['before'], after: StageLinks['after']): StageLinks['rows'] {
  const next = new Map(
    ids.flatMap((id) => {
      const [follower, another] = after.get(id) ?? []
      const isOnly = follower !== undefined && another === undefined && before.get(follower)?.length === 1
      return isOnly ? [[id, follower] as const] : []
    }),
  )
  const followers = new Set(next.values())
  return ids.flatMap((first) => {
    if (followers.has(first) || !next.has(first)) return []
    const row: string[] = []
    for (let id: string | undefined = first; id !== undefined; id = next.get(id)) row.push(id)
    return [row]
  })
}
