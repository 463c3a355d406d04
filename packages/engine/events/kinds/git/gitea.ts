/** Webhooks of Gitea, Forgejo and Gogs, and of hooks of plain repositories. */
import { fieldOf, isObject, type JsonObject, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import {
  changedFiles,
  type GitChange,
  pullRequestFields,
  pushedCommit,
  refFields,
  repositoryNames,
  text,
  toBranch,
  unlessDeleted,
} from './change.ts'
import { repositoryName } from './repository-name.ts'

/** Gitea says how many commits there are; Gogs lists all. */
const mostCommits = Number.POSITIVE_INFINITY

/** A created branch is pushed, too; whatever else is no push and no pull request starts nothing. */
export function readGitea(payload: JsonObject): GitChange | undefined {
  const { repository, pull_request: pullRequest, ref } = payload
  const place = {
    repoProject: text(repository, 'owner', 'login') || text(repository, 'owner', 'username'),
    slug: text(repository, 'name'),
    repositories: repositoryNames(repository, 'clone_url', 'ssh_url', 'html_url'),
  }
  if (isObject(pullRequest)) return { ...place, ...pullRequestFields(payload, pullRequest) }
  const after = text(payload, 'after')
  // The test of a connection pushes what is there.
  if (after === '' || after === text(payload, 'before')) return undefined
  const hash = pushedCommit(ref, after, text(payload, 'head_commit', 'id'))
  const change = { hash, branch: toBranch(ref), action: 'push:push' }
  return unlessDeleted({ ...place, ...change, ...refFields(ref), ...changedFiles(payload, mostCommits) })
}

/**
 * A hook of a repository without a code host: `{repository, ref, before, after, paths?}`.
 *
 * @throws {PortError} 400 when it names no ref or commit
 */
export function readPlain(payload: JsonObject): GitChange | undefined {
  const [repository, ref, after] = ['repository', 'ref', 'after'].map((field) => text(payload, field)) as [string, string, string]
  const name = repositoryName(repository)
  if (name === undefined || !ref.startsWith('refs/') || !/^[0-9a-f]{40,64}$/.test(after)) {
    const message =
      'A webhook of git needs "repository", an address, "ref", such as refs/heads/main, and "before" and "after", whole commits.'
    throw new PortError(400, message)
  }
  const [slug = '', ...parents] = name.split('/').toReversed()
  const paths = fieldOf(payload, 'paths')
  const files = Array.isArray(paths)
    ? { paths: textsOf(paths) }
    : { pathsUnknown: 'The changed files are unknown: the hook sends none.' }
  const place = { repoProject: parents[0] ?? '', slug, repositories: [name] }
  return unlessDeleted({ ...place, hash: after, branch: toBranch(ref), action: 'push:push', ...refFields(ref), ...files })
}
