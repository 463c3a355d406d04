/** Conditions of git triggers: branches, tags and paths. @see docs/contracts/events.md#git */
import { createHash } from 'node:crypto'
import { isTrue, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Event } from '../../event.ts'
import type { Patterns } from '../../event-patterns.ts'
import { matchesPath } from './glob.ts'

/** Pairs of characters that are compared in the time of one step of a pattern. */
const pairsPerStep = 64
/** Longer ones match nothing. */
const longestGlob = 1000
const longestPath = 4096

/** Triggers with the same key share one poll; undefined: the trigger does not poll. */
export function pollKeyOf(trigger: JsonObject): string | undefined {
  const repository = textOf(trigger['repository'])
  if (trigger['type'] !== 'git' || !isTrue(trigger['poll']) || repository === undefined) return undefined
  const text = JSON.stringify([repository, textOf(trigger['artifactAccount']) ?? ''])
  // The address may hold a password, and keys are stored.
  return `git ${createHash('sha256').update(text).digest('base64url')}`
}

/** Why a branch or tag is none that the trigger waits for, as a sentence. */
export function describeOtherRef(trigger: JsonObject, event: Event, patterns: Patterns): string | undefined {
  const [branches, tags] = [textOf(trigger['branch']), textOf(trigger['tags'])]
  const [branch = '', tag] = [textOf(event.content['branch']), textOf(event.content['tag'])]
  if (tag !== undefined && tags !== undefined)
    return patterns.matchesWhole(tags, tag) ? undefined : `The tag "${tag}" does not match "${tags}".`
  if (tag !== undefined && event.isObserved) return 'The trigger has no pattern for tags, in its field "tags".'
  if (tags !== undefined && branches === undefined) return 'The trigger waits for tags alone.'
  if (branches === undefined || patterns.matchesWhole(branches, branch)) return undefined
  return `The branch "${branch}" does not match "${branches}".`
}

interface PathConditions {
  readonly wanted: readonly string[]
  readonly excluded: readonly string[]
}

function pathConditions(trigger: JsonObject): PathConditions {
  return { wanted: globsOf(trigger['paths']), excluded: globsOf(trigger['excludedPaths']) }
}

function globsOf(field: unknown): readonly string[] {
  return typeof field === 'string' ? [field].filter((glob) => glob !== '') : textsOf(field)
}

/** Whether it matters which files have changed. */
export function hasPathConditions(trigger: JsonObject): boolean {
  const { wanted, excluded } = pathConditions(trigger)
  return wanted.length > 0 || excluded.length > 0
}

/** Why no changed file is one that the trigger waits for, as a sentence. A push whose files are unknown matches. */
export function describeOtherPaths(trigger: JsonObject, { content }: Event, { spend }: Patterns): string | undefined {
  const { wanted, excluded } = pathConditions(trigger)
  const paths = content['paths']
  if (!Array.isArray(paths) || wanted.length + excluded.length === 0) return undefined
  const matches = (globs: readonly string[], path: string) =>
    globs.some((glob) => {
      if (glob.length > longestGlob || path.length > longestPath) return false
      spend(1 + (glob.length * path.length) / pairsPerStep)
      return matchesPath(glob, path)
    })
  const changed = textsOf(paths)
  const isWanted = (path: string) => (wanted.length === 0 || matches(wanted, path)) && !matches(excluded, path)
  return changed.some(isWanted) ? undefined : `None of the ${changed.length} changed files matches the paths of the trigger.`
}
