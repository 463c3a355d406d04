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
  const levels = levelsOf(stages)
  const order = [...stages.keys()].sort((a, b) => (levels[a] ?? 0) - (levels[b] ?? 0) || a - b)
  const ordered = order.flatMap((at) => stages[at] ?? [])
  const byRef = new Map(ordered.map(({ refId, id }) => [refId, id]))
  const pairs = ordered.flatMap(({ id, requisiteStageRefIds }) =>
    [...new Set(requisiteStageRefIds)].map((ref) => [byRef.get(ref) ?? `missing:${ref}`, id] as const),
  )
  const missing = new Set(
    ordered.flatMap(({ requisiteStageRefIds }) => requisiteStageRefIds ?? []).filter((ref) => !byRef.has(ref)),
  )
  const [before, after] = [others(pairs, 1), others(pairs, 0)]
  const ids = ordered.map(({ id }) => id)
  const alike = Map.groupBy(ids, (id) => JSON.stringify([before, after].map((found) => found.get(id)?.toSorted())))
  return {
    order,
    pairs,
    missing: [...missing].map((ref) => ({ id: `missing:${ref}`, ref })),
    before,
    after,
    siblings: [...alike.values()].filter(({ length }) => length > 1),
    rows: rowsOf(ids, before, after),
  }
}

/** How many stages come before each at least. A circle or a missing requisite costs the order, not the list. */
export function levelsOf(stages: readonly Omit<Linked, 'id'>[]): readonly number[] {
  const levels = stages.map(() => 0)
  const places = new Map(stages.map(({ refId }, at) => [refId, at]))
  const raise = ({ requisiteStageRefIds }: Omit<Linked, 'id'>, at: number) => {
    const before = (requisiteStageRefIds ?? []).map((ref) => levels[places.get(ref) ?? -1] ?? -1)
    const level = Math.min(stages.length, Math.max(-1, ...before) + 1)
    const isHigher = level > (levels[at] ?? 0)
    levels[at] = level
    return isHigher
  }
  while (stages.map(raise).includes(true));
  return levels
}

function others(pairs: StageLinks['pairs'], of: 0 | 1): ReadonlyMap<string, readonly string[]> {
  const groups = Map.groupBy(pairs, (pair) => pair[of])
  return new Map([...groups].map(([id, members]) => [id, members.map((pair) => pair[1 - of] as string)]))
}

function rowsOf(ids: readonly string[], before: StageLinks['before'], after: StageLinks['after']): StageLinks['rows'] {
  const next = (id: string) => {
    const [follower, another] = after.get(id) ?? []
    return follower !== undefined && another === undefined && before.get(follower)?.length === 1 ? follower : undefined
  }
  const followers = new Set(ids.map(next))
  return ids.flatMap((first) => {
    const row: string[] = []
    for (let id: string | undefined = followers.has(first) ? undefined : first; id !== undefined; id = next(id)) row.push(id)
    return row.length > 1 ? [row] : []
  })
}
