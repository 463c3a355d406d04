/** Webhooks of GitHub and GitLab. */
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
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

/** Commits that one webhook lists at most. */
const mostOfGithub = 2048
/** GitLab lists 20, and says how many there are. */
const mostOfGitlab = Number.POSITIVE_INFINITY

export function readGithub(payload: JsonObject, headers: Readonly<Record<string, string>>): GitChange | undefined {
  const { hook_id: ping, repository, pull_request: pullRequest, ref_type: refType, ref } = payload
  if (ping !== undefined) return undefined
  const slug = text(repository, 'name')
  const login = text(repository, 'owner', 'login')
  const repositories = repositoryNames(repository, 'clone_url', 'ssh_url', 'html_url')
  if (isObject(pullRequest)) return { repoProject: login, slug, repositories, ...pullRequestFields(payload, pullRequest) }
  const event = headers['x-github-event'] ?? ''
  if (refType === 'branch')
    return { repoProject: login, slug, hash: '', branch: text(ref), action: `branch:${event}`, repositories }
  // Comments and issues name no commit.
  if (event !== '' && event !== 'push') return undefined
  const repoProject = text(repository, 'owner', 'name')
  const place = { repoProject, slug, repositories, ...refFields(ref), ...changedFiles(payload, mostOfGithub) }
  const hash = pushedCommit(ref, text(payload, 'after'), text(payload, 'head_commit', 'id'))
  return unlessDeleted({ ...place, hash, branch: toBranch(ref), action: 'push:push' })
}

export function readGitlab(payload: JsonObject): GitChange | undefined {
  const { project, ref } = payload
  return unlessDeleted({
    repoProject: text(project, 'namespace'),
    slug: text(project, 'name'),
    hash: pushedCommit(ref, text(payload, 'after'), text(payload, 'checkout_sha')),
    branch: toBranch(ref),
    action: text(payload, 'object_kind'),
    repositories: repositoryNames(project, 'git_http_url', 'git_ssh_url', 'web_url'),
    ...refFields(ref),
    ...(text(ref) !== '' && changedFiles(payload, mostOfGitlab)),
  })
}
