/** Webhooks of GitHub, GitLab, Gitea, Forgejo and Gogs, which are alike, and of hooks of plain repositories. */
import {
  asGiven,
  list,
  maybe,
  maybeTexts,
  or,
  type ShapeOf,
  shape,
} from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isTrue,
  type JsonObject,
  numberOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { distinctAuthors, toAuthor } from '@fairlead/model/environments/commit-authors.ts'
import {
  type GitChange,
  isNoCommit,
  orDeletion,
  pushedCommit,
  refFields,
  toBranch,
} from './change.ts'
import { repositoryName } from './repository-name.ts'

const text = or(textOf, '')

const commitFields = {
  id: text,
  message: textOf,
  timestamp: textOf,
  url: textOf,
  author: toAuthor,
} as const
const mostMessage = 5000

type Push = ShapeOf<typeof toPush>
const toPush = shape({
  ref: text,
  refType: [textOf, 'ref_type'],
  before: text,
  after: text,
  /** The last commit, or that to which a pushed tag leads. */
  tagged: [shape(commitFields), 'head_commit'],
  checkout: [text, 'checkout_sha'],
  action: text,
  kind: [text, 'object_kind'],
  ping: [asGiven, 'hook_id'],
  forced: isTrue,
  total: [numberOf, 'total_commits_count', 'total_commits'],
  commits: list(
    shape({
      ...commitFields,
      added: maybe(textsOf),
      modified: maybe(textsOf),
      removed: maybe(textsOf),
    }),
  ),
  repository: shape({
    name: text,
    owner: shape({ name: text, login: textOf, username: text }),
    clone_url: text,
    ssh_url: text,
    html_url: text,
  }),
  project: shape({
    name: text,
    namespace: text,
    git_http_url: text,
    git_ssh_url: text,
    web_url: text,
  }),
  pullRequest: [
    maybe(
      shape({
        head: shape({ sha: text, ref: text, repo: shape({ full_name: text }) }),
        base: shape({ repo: shape({ full_name: text }) }),
        number: asGiven,
        draft: asGiven,
        state: asGiven,
        title: asGiven,
      }),
    ),
    'pull_request',
  ],
})

/** Commits that one webhook of GitHub lists at most. GitLab lists 20, and like Gitea says how many there are; Gogs lists all. */
const mostOfGithub = 2048

export function readGithub(
  payload: JsonObject,
  headers: Readonly<Record<string, string>>,
): GitChange | undefined {
  const push = toPush(payload)
  const { repository, pullRequest, refType, ref, ping } = push
  if (ping !== undefined) return undefined
  const { owner, name: slug } = repository
  const place = { repoProject: owner.login ?? '', slug, repositories: addressesOf(repository) }
  if (pullRequest !== undefined) return { ...place, ...ofPullRequest(push, pullRequest) }
  const event = headers['x-github-event'] ?? ''
  if (refType === 'branch') return { ...place, hash: '', branch: ref, action: `branch:${event}` }
  // Comments and issues name no commit.
  if (event !== '' && event !== 'push') return undefined
  return orDeletion({ ...place, repoProject: owner.name, ...ofPush(push, mostOfGithub) })
}

/** A created branch is pushed, too; whatever else is no push and no pull request starts nothing. */
export function readGitea(payload: JsonObject): GitChange | undefined {
  const push = toPush(payload)
  const { repository, pullRequest, before, after } = push
  const { owner, name: slug } = repository
  const place = {
    repoProject: owner.login ?? owner.username,
    slug,
    repositories: addressesOf(repository),
  }
  if (pullRequest !== undefined) return { ...place, ...ofPullRequest(push, pullRequest) }
  // The test of a connection pushes what is there.
  return after === '' || after === before ? undefined : orDeletion({ ...place, ...ofPush(push) })
}

export function readGitlab(payload: JsonObject): GitChange | undefined {
  const push = toPush(payload)
  const { project, ref, kind: action, after, checkout } = push
  const place = {
    repoProject: project.namespace,
    slug: project.name,
    repositories: namesOf(project.git_http_url, project.git_ssh_url, project.web_url),
  }
  if (action === 'merge_request') {
    const { commit, branch, from, to, ...fields } = toMergeRequest(payload).request
    const change = { ...place, hash: commit.id, branch, action, isFromFork: from !== to }
    return commit.id === '' ? undefined : { ...change, ...definedOf(fields) }
  }
  const hash = pushedCommit(ref, after, checkout)
  // Comments, issues and runs of pipelines push no commit.
  if (hash === '') return undefined
  return orDeletion({
    ...place,
    hash,
    branch: toBranch(ref),
    action,
    ...refFields(ref),
    ...changedFiles(push),
    ...describeCommits(push, hash),
  })
}

const toMergeRequest = shape({
  request: [
    shape({
      commit: [shape({ id: text }), 'last_commit'],
      branch: [text, 'source_branch'],
      from: [asGiven, 'source_project_id'],
      to: [asGiven, 'target_project_id'],
      number: [asGiven, 'iid'],
      draft: asGiven,
      state: asGiven,
      title: asGiven,
    }),
    'object_attributes',
  ],
})

const toPlain = shape({
  repository: text,
  ref: text,
  after: text,
  paths: maybeTexts,
})

/**
 * A hook of a repository without a code host: `{repository, ref, before, after, paths?}`.
 *
 * @throws {PortError} 400 when it names no ref or commit
 */
export function readPlain(payload: JsonObject): GitChange | undefined {
  const { repository, ref, after: hash, paths } = toPlain(payload)
  const name = repositoryName(repository)
  if (name === undefined || !ref.startsWith('refs/') || !/^[0-9a-f]{40,64}$/.test(hash)) {
    const message =
      'A webhook of git needs "repository", an address, "ref", such as refs/heads/main, and "before" and "after", whole commits.'
    throw new PortError(400, message)
  }
  const [slug = '', repoProject = ''] = name.split('/').toReversed()
  const files =
    paths === undefined
      ? { pathsUnknown: 'The changed files are unknown: the hook sends none.' }
      : { paths }
  const place = { repoProject, slug, repositories: [name] }
  return orDeletion({
    ...place,
    hash,
    branch: toBranch(ref),
    action: 'push:push',
    ...refFields(ref),
    ...files,
  })
}

function ofPullRequest(
  { action }: Push,
  { head, base, ...fields }: NonNullable<Push['pullRequest']>,
) {
  return {
    hash: head.sha,
    branch: head.ref,
    action: `pull_request:${action}`,
    isFromFork: head.repo.full_name !== base.repo.full_name,
    ...definedOf(fields),
  }
}

function ofPush(push: Push, mostCommits?: number) {
  const { ref, after, tagged } = push
  const hash = pushedCommit(ref, after, tagged.id)
  return {
    hash,
    branch: toBranch(ref),
    action: 'push:push',
    ...refFields(ref),
    ...changedFiles(push, mostCommits),
    ...describeCommits(push, hash),
  }
}

function describeCommits(
  { commits, tagged }: Push,
  sha: string,
): Pick<GitChange, 'commit' | 'authors'> {
  const last = commits.find(({ id }) => id === sha) ?? tagged
  const { message, timestamp, url, author } = last
  const authors = distinctAuthors([...commits, last].map((commit) => commit.author))
  if (message === undefined) return { authors }
  const commit = { sha, message: message.slice(0, mostMessage), author: author.name }
  return { commit: definedOf({ ...commit, timestamp, url }), authors }
}

function addressesOf({ clone_url, ssh_url, html_url }: Push['repository']): readonly string[] {
  return namesOf(clone_url, ssh_url, html_url)
}

function namesOf(...addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses.flatMap((address) => repositoryName(address) ?? []))]
}

/**
 * The files of a push, where the host lists those of all commits.
 *
 * @param most Commits that the host lists at most
 */
function changedFiles(
  { commits, total = commits.length, before, forced }: Push,
  most = Number.POSITIVE_INFINITY,
): Pick<GitChange, 'paths' | 'pathsUnknown'> {
  const lists = commits.map(({ added, modified, removed }) =>
    [added, modified, removed].filter((each) => each !== undefined),
  )
  const reason = isNoCommit(before)
    ? 'the ref is new'
    : forced
      ? 'the push has replaced commits'
      : commits.length === 0
        ? 'the host lists no commits'
        : total > commits.length || commits.length >= most
          ? `the host lists only ${commits.length} commits`
          : lists.some((each) => each.length === 0)
            ? 'the host lists no files'
            : undefined
  return reason === undefined
    ? { paths: [...new Set(lists.flat(2))] }
    : { pathsUnknown: `The changed files are unknown: ${reason}.` }
}
