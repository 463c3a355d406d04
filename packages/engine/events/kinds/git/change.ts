/** Changes of repositories, in the form that git triggers are compared with. @see docs/contracts/events.md#git */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { CommitAuthor } from '@fairlead/model/environments/commit-authors.ts'

/** What a code host reported; of a pull request, also its number, state and title, and whether it is a draft. */
export interface GitChange extends JsonObject {
  repoProject: string
  slug: string
  hash: string
  branch: string
  action: string
  /** Whether its commit may be of anyone, who has written it into a repository of their own. */
  isFromFork?: boolean
  /** Full name of what was pushed, such as `refs/heads/main`. */
  ref?: string
  /** Name of a pushed tag. */
  tag?: string
  /** Files of a push. */
  paths?: readonly string[]
  /** Why the files of a push are unknown, as a sentence. */
  pathsUnknown?: string
  /** Last commit of a push, as the host describes it. */
  commit?: JsonObject
  /** Who has written its commits, with addresses that no reader sees. */
  authors?: readonly CommitAuthor[]
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

export function toBranch(ref: string): string {
  return ref.startsWith(branchPrefix) ? ref.slice(branchPrefix.length) : ref
}

/** The whole name of a ref, with its tag if it is one; empty where the ref has no whole name. */
export function refFields(ref: string): Pick<GitChange, 'ref' | 'tag'> {
  if (!ref.startsWith('refs/')) return {}
  return { ref, ...(ref.startsWith(tagPrefix) && { tag: ref.slice(tagPrefix.length) }) }
}

/** How the absence of a commit is written. */
export const noCommit = '0'.repeat(40)

/** Whether a commit is absent: it has not been there before, or is no longer there. */
export function isNoCommit(hash: string): boolean {
  return hash.startsWith('000000000')
}

/** The commit of a push; a pushed tag with a message is no commit itself, and leads to one. */
export function pushedCommit(ref: string, after: string, tagged: string): string {
  return isNoCommit(after) || !ref.startsWith(tagPrefix) ? after : tagged || after
}

/** A deleted branch becomes its end, which triggers have to ask for; a deleted tag nothing. */
export function orDeletion(change: GitChange): GitChange | undefined {
  if (!isNoCommit(change.hash)) return change
  const { repoProject, slug, branch, repositories, ref = '' } = change
  if (!ref.startsWith(branchPrefix)) return undefined
  return {
    ...{ repoProject, slug, branch, hash: '', action: deletion, isDeletion: true },
    ...(repositories !== undefined && { repositories }),
  }
}

const deletion = 'branch:delete'
