/** How stages refer to each other: their order, what leads to what, and what is alike. */
import { scalarOf, textsOf } from '@fairlead/base/json/values.ts'

/** A stage of a definition or of an execution. */
interface Linked {
  readonly refId?: unknown
  readonly requisiteStageRefIds?: unknown
}

export type StageLinks = ReturnType<typeof linksOf>
type Neighbours = ReadonlyMap<string, readonly string[]>

/** Stages by how many others come before them at least. A circle or a missing requisite costs the order, not the list. */
export function levelsOf<Stage extends Linked>(
  stages: readonly Stage[],
): readonly (readonly Stage[])[] {
  const levels = stages.map(() => 0)
  const places = new Map(stages.map(({ refId }, at) => [scalarOf(refId), at]))
  const raise = ({ requisiteStageRefIds }: Linked, at: number) => {
    const before = textsOf(requisiteStageRefIds).map((ref) => levels[places.get(ref) ?? -1] ?? -1)
    const level = Math.min(stages.length, Math.max(-1, ...before) + 1)
    const isHigher = level > (levels[at] ?? 0)
    levels[at] = level
    return isHigher
  }
  while (stages.map(raise).includes(true));
  const grouped = Map.groupBy(stages.entries(), ([at]) => levels[at] ?? 0)
  return [...grouped]
    .toSorted(([one], [other]) => one - other)
    .map(([, members]) => members.map(([, stage]) => stage))
}

/** @param stages Each after those that it requires */
export function linksOf(stages: readonly (Linked & { readonly id: string })[]) {
  const byRef = new Map(stages.map(({ refId, id }) => [scalarOf(refId), id]))
  const required = stages.flatMap(({ id, requisiteStageRefIds }) =>
    [...new Set(textsOf(requisiteStageRefIds))].map((ref) => ({
      id,
      ref,
      from: byRef.get(ref) ?? `missing:${ref}`,
    })),
  )
  // From stage to stage, by id; a missing requisite has an id of its own.
  const pairs = required.map(({ from, id }) => [from, id] as const)
  const missing = new Set(required.flatMap(({ ref }) => (byRef.has(ref) ? [] : ref)))
  const [before, after] = [others(pairs, 1), others(pairs, 0)]
  const ids = stages.map(({ id }) => id)
  const alike = Map.groupBy(ids, (id) =>
    JSON.stringify([before, after].map((found) => found.get(id)?.toSorted())),
  )
  return {
    pairs,
    before,
    after,
    rows: rowsOf(ids, before, after),
    missing: [...missing].map((ref) => ({ id: `missing:${ref}`, ref })),
    // Between the same stages.
    siblings: [...alike.values()].filter(({ length }) => length > 1),
  }
}

function others(pairs: readonly (readonly [from: string, to: string])[], of: 0 | 1): Neighbours {
  const groups = Map.groupBy(pairs, (pair) => pair[of])
  return new Map(
    [...groups].map(([id, members]) => [id, members.map((pair) => pair[1 - of] as string)]),
  )
}

/** Stages of which each is the only one before the next, and the next the only one after it. */
function rowsOf(ids: readonly string[], before: Neighbours, after: Neighbours) {
  const next = (id: string) => {
    const [follower, another] = after.get(id) ?? []
    return follower !== undefined && another === undefined && before.get(follower)?.length === 1
      ? follower
      : undefined
  }
  const followers = new Set(ids.map(next))
  return ids.flatMap((first) => {
    const row: string[] = []
    for (
      let id: string | undefined = followers.has(first) ? undefined : first;
      id !== undefined;
      id = next(id)
    )
      row.push(id)
    return row.length > 1 ? [row] : []
  })
}
