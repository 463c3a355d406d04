/** Revisions of a pipeline, newest first, as the store keeps them. */
import { type Json, numberOf, objectsOf, textOf } from '../model/read.ts'
import { stamps, withoutStamps } from './changes.ts'
import { describeChanges } from './describe-changes.ts'

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
  return objectsOf(answer).map((definition, index, versions) => {
    const savedAtMs = numberOf(definition['updateTs']) ?? numberOf(definition['lastModified'])
    const author = textOf(definition['lastModifiedBy'])
    return { id: String(savedAtMs ?? `n${index}`), savedAtMs, author, definition, previous: versions[index + 1] }
  })
}

/** The newest one, or the newest at a time, in milliseconds since the epoch. */
export function findRevision(revisions: readonly Revision[], untilMs = Infinity): Revision | undefined {
  return revisions.find(({ savedAtMs = Infinity }) => savedAtMs <= untilMs)
}

/** Titles of what a revision changed. */
export function summaryOf({ definition, previous }: Revision): readonly string[] {
  return previous === undefined ? [] : describeChanges(previous, definition).map(({ title }) => title)
}

/** The revision as a draft: where it is stored stays as it is. */
export function toDraft(revision: Json, current: Json): Json {
  const kept = Object.entries(current).filter(([name]) => ['id', 'application', ...stamps].includes(name))
  return { ...withoutStamps(revision), ...Object.fromEntries(kept) }
}
