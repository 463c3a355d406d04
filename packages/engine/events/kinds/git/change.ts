/** Changes of repositories, in the form that git triggers are compared with. @see docs/contracts/events.md#git */
import { fieldAt, isTrue, type JsonObject, numberOf, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { pick } from '../kind.ts'
import { repositoryName } from './repository-name.ts'

/** What a code host reported; of a pull request, also its number, state and title, and whether it is a draft. */
export interface GitChange extends JsonObject {
  repoProject: string
  slug: string
  hash: string
  branch: string
  action: string
  /** Of a push: the whole name, such as `refs/heads/main`. */
  ref?: string
  /** Of a pushed tag. */
  tag?: string
  /** Files of a push. */
  paths?: readonly string[]
  /** Why the files of a push are unknown, as a sentence. */
  pathsUnknown?: string
  /** Names of the repository, by its addresses. */
  repositories?: readonly string[]
}

/**
 * Reads a webhook of one code host; undefined, or none, when it is a ping or the deletion of a branch, which start nothing.
 * Some hosts report several refs together.
 */
export type ReadChange = (
  payload: JsonObject,
  headers: Readonly<Record<string, string>>,
) => GitChange | readonly GitChange[] | undefined

const branchPrefix = 'refs/heads/'
export const tagPrefix = 'refs/tags/'

export function toBranch(ref: unknown): string {
  const name = text(ref)
  return name.startsWith(branchPrefix) ? name.slice(branchPrefix.length) : name
}

/** The whole name of a ref, with its tag if it is one; empty where the ref has no whole name. */
export function refFields(ref: unknown): Pick<GitChange, 'ref' | 'tag'> {
  const name = text(ref)
  if (!name.startsWith('refs/')) return {}
  return { ref: name, ...(name.startsWith(tagPrefix) && { tag: name.slice(tagPrefix.length) }) }
}

/** A text at a path, or an empty one. */
export function text(from: unknown, ...path: readonly string[]): string {
  return textOf(fieldAt(from, ...path)) ?? ''
}

/** How the absence of a commit is written. */
export const noCommit = '0'.repeat(40)

/** Whether a commit is absent: it has not been there before, or is no longer there. */
export function isNoCommit(hash: string): boolean {
  return hash.startsWith('000000000')
}

/** The commit of a push; a pushed tag with a message is no commit itself, and leads to one. */
export function pushedCommit(ref: unknown, after: string, tagged: string): string {
  return isNoCommit(after) || !text(ref).startsWith(tagPrefix) ? after : tagged || after
}

/** What GitHub and Gitea send alike. */
export function pullRequestFields(payload: JsonObject, pullRequest: JsonObject) {
  return {
    hash: text(pullRequest, 'head', 'sha'),
    branch: text(pullRequest, 'head', 'ref'),
    action: `pull_request:${text(payload, 'action')}`,
    ...pick(pullRequest, ['number', 'draft', 'state', 'title']),
  }
}

export function unlessDeleted(change: GitChange): GitChange | undefined {
  return isNoCommit(change.hash) ? undefined : change
}

/** The addresses of a repository that a host lists, as names. */
export function repositoryNames(repository: unknown, ...fields: readonly string[]): readonly string[] {
  const names = fields.map((field) => repositoryName(text(repository, field)))
  return [...new Set(names.filter((name) => name !== undefined))]
}

/**
 * The files of a push, where the host lists those of all commits.
 *
 * @param most Commits that the host lists at most
 */
export function changedFiles(payload: JsonObject, most: number): Pick<GitChange, 'paths' | 'pathsUnknown'> {
  const commits = objectsOf(payload['commits'])
  const total = numberOf(payload['total_commits_count'] ?? payload['total_commits']) ?? commits.length
  const unknown = (reason: string) => ({ pathsUnknown: `The changed files are unknown: ${reason}.` })
  if (isNoCommit(text(payload, 'before'))) return unknown('the ref is new')
  if (isTrue(payload['forced'])) return unknown('the push has replaced commits')
  if (commits.length === 0) return unknown('the host lists no commits')
  if (total > commits.length || commits.length >= most) return unknown(`the host lists only ${commits.length} commits`)
  if (!commits.every((commit) => fileLists.some((list) => list in commit))) return unknown('the host lists no files')
  return { paths: [...new Set(commits.flatMap((commit) => fileLists.flatMap((list) => textsOf(commit[list]))))] }
}

const fileLists = ['added', 'modified', 'removed'] as const
