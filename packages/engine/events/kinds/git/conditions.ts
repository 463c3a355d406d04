/** Conditions of git triggers: branches, tags and paths. @see docs/contracts/events.md#git */
import { createHash } from 'node:crypto'
import { maybeTexts, or, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Event } from '../../event.ts'
import type { Patterns } from '../../event-patterns.ts'

/** Pairs of characters that are compared in the time of one step of a pattern. */
const pairsPerStep = 64
/** Longer ones match nothing. */
const longestGlob = 1000
const longestPath = 4096

const toPolling = shape({
  type: textOf,
  poll: isTrue,
  repository: textOf,
  artifactAccount: or(textOf, ''),
})
const toConditions = shape({ branch: textOf, tags: textOf, paths: globsOf, excludedPaths: globsOf })
const toPushed = shape({
  branch: or(textOf, ''),
  tag: textOf,
  paths: maybeTexts,
})

/** Triggers with the same key share one poll; undefined: the trigger does not poll. */
export function pollKeyOf(trigger: JsonObject): string | undefined {
  const { type, poll, repository, artifactAccount } = toPolling(trigger)
  if (type !== 'git' || !poll || repository === undefined) return undefined
  const text = JSON.stringify([repository, artifactAccount])
  // The address may hold a password, and keys are stored.
  return `git ${createHash('sha256').update(text).digest('base64url')}`
}

/** Why a branch or tag is none that the trigger waits for, as a sentence. */
export function describeOtherRef(
  trigger: JsonObject,
  event: Event,
  patterns: Patterns,
): string | undefined {
  const { branch: branches, tags } = toConditions(trigger)
  const { branch, tag } = toPushed(event.content)
  if (tag !== undefined && tags !== undefined)
    return patterns.matchesWhole(tags, tag)
      ? undefined
      : `The tag "${tag}" does not match "${tags}".`
  if (tag !== undefined && event.isObserved)
    return 'The trigger has no pattern for tags, in its field "tags".'
  if (tags !== undefined && branches === undefined) return 'The trigger waits for tags alone.'
  if (branches === undefined || patterns.matchesWhole(branches, branch)) return undefined
  return `The branch "${branch}" does not match "${branches}".`
}

function globsOf(field: unknown): readonly string[] {
  return typeof field === 'string' ? [field].filter((glob) => glob !== '') : textsOf(field)
}

/** Whether it matters which files have changed. */
export function hasPathConditions(trigger: JsonObject): boolean {
  const { paths, excludedPaths } = toConditions(trigger)
  return paths.length + excludedPaths.length > 0
}

/** Why no changed file is one that the trigger waits for, as a sentence. A push whose files are unknown matches. */
export function describeOtherPaths(
  trigger: JsonObject,
  { content }: Event,
  { spend }: Patterns,
): string | undefined {
  const { paths: wanted, excludedPaths: excluded } = toConditions(trigger)
  const { paths } = toPushed(content)
  if (paths === undefined || wanted.length + excluded.length === 0) return undefined
  const matches = (globs: readonly string[], path: string) =>
    globs.some((glob) => {
      if (glob.length > longestGlob || path.length > longestPath) return false
      spend(1 + (glob.length * path.length) / pairsPerStep)
      return matchesPath(glob, path)
    })
  const isWanted = (path: string) =>
    (wanted.length === 0 || matches(wanted, path)) && !matches(excluded, path)
  return paths.some(isWanted)
    ? undefined
    : `None of the ${paths.length} changed files matches the paths of the trigger.`
}

/** In time proportional to the product of both lengths at most. */
function matchesPath(glob: string, path: string): boolean {
  const names = namesOf(glob.endsWith('/') ? `${glob}**` : glob)
  return matchesStars(names, namesOf(path), (name) => name === '**', matchesName)
}

function namesOf(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

function matchesName(glob: string, name: string): boolean {
  return matchesStars(
    [...glob],
    [...name],
    (character) => character === '*',
    (one, other) => one === '?' || one === other,
  )
}

/** A star takes as few parts as possible, and one more whenever the rest does not match: the last star alone need be tried again. */
function matchesStars(
  pattern: readonly string[],
  parts: readonly string[],
  isStar: (part: string) => boolean,
  fits: (wanted: string, part: string) => boolean,
): boolean {
  let [at, position, star, taken] = [0, 0, -1, 0]
  for (let part = parts[position]; part !== undefined; part = parts[position]) {
    const wanted = pattern[at]
    if (wanted !== undefined && isStar(wanted)) {
      star = at++
      taken = position
    } else if (wanted !== undefined && fits(wanted, part)) {
      at++
      position++
    } else if (star >= 0) {
      at = star + 1
      position = ++taken
    } else return false
  }
  return pattern.slice(at).every(isStar)
}
