/** Revisions of a pipeline, newest first, as the store keeps them. */
import { type Json, numberOf, objectsOf, textOf } from '../model/read.ts'
import { describeChanges } from './describe-changes.ts'
import { withoutStamps } from './draft.ts'

export interface Revision {
  /** In addresses: when it was saved, or its place where that is not known. */
  readonly id: string
  readonly savedAtMs: number | undefined
  readonly author: string | undefined
  readonly definition: Json
  /** The one before it; undefined for the last that is listed. */
  readonly previous: Json | undefined
}

export function toRevisions(answer: unknown): readonly Revision[] {
  const versions = objectsOf(answer)
  return versions.map((definition, index) => {
    const savedAtMs = numberOf(definition['updateTs']) ?? numberOf(definition['lastModified'])
    return {
      id: savedAtMs === undefined ? `n${index}` : String(savedAtMs),
      savedAtMs,
      author: textOf(definition['lastModifiedBy']),
      definition,
      previous: versions[index + 1],
    }
  })
}

/**
 * The revision with this id, else the newest of that time, else the newest.
 *
 * @param untilMs When it was the current one, in milliseconds since the epoch.
 */
export function findRevision(
  revisions: readonly Revision[],
  id: string | undefined,
  untilMs: number | undefined,
): Revision | undefined {
  if (id !== undefined) return revisions.find((revision) => revision.id === id)
  if (untilMs === undefined) return revisions[0]
  return revisions.find(({ savedAtMs }) => savedAtMs !== undefined && savedAtMs <= untilMs)
}

/** Titles of what a revision changed. */
export function summaryOf({ definition, previous }: Revision): readonly string[] {
  return previous === undefined ? [] : describeChanges(previous, definition).map(({ title }) => title)
}

/** The revision as a draft: where it is stored stays as it is. */
export function toDraft(revision: Json, current: Json): Json {
  const own = withoutStamps(current)
  const stamps = Object.entries(current).filter(([name]) => !Object.hasOwn(own, name))
  const place = ['id', 'application'].flatMap((name) => (current[name] === undefined ? [] : [[name, current[name]] as const]))
  return { ...withoutStamps(revision), ...Object.fromEntries([...place, ...stamps]) }
}
