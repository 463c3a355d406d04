/** Source control: webhooks of code hosts, and the triggers that they fire. @see docs/contracts/events.md#git */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { fieldOf, isObject, type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../../json/values.ts'
import type { Event } from '../event.ts'
import { pushedArtifacts } from '../pushed-artifacts.ts'
import { sameName, type TriggerKind } from './kind.ts'

export const gitKind: TriggerKind = {
  eventType: 'git',
  triggerTypes: ['git'],
  concerns(trigger, event) {
    const { content } = event
    const events = textsOf(trigger['events'])
    return (
      sameName(trigger['source'], event.source) &&
      sameName(trigger['project'], content['repoProject']) &&
      sameName(trigger['slug'], content['slug']) &&
      (events.length === 0 || events.includes(textOf(content['action']) ?? '')) &&
      isSigned(trigger, event)
    )
  },
  matches(trigger, { content }, { patterns }) {
    const branch = textOf(trigger['branch'])
    return branch === undefined || patterns.matchesWhole(branch, textOf(content['branch']) ?? '')
  },
  fields: (_trigger, { content }) => ({
    hash: content['hash'],
    branch: content['branch'],
    action: content['action'],
    properties: pick(content, ['number', 'draft', 'state', 'title']),
  }),
  artifacts: pushedArtifacts,
}

/** Either the trigger has a secret and the body is signed with it, or neither is the case. */
function isSigned(trigger: JsonObject, event: Event): boolean {
  const secret = textOf(trigger['secret'])
  const signature = event.headers['x-hub-signature']
  if (secret === undefined || signature === undefined) return secret === undefined && signature === undefined
  const expected = Buffer.from(
    `sha1=${createHmac('sha1', secret)
      .update(event.raw ?? '')
      .digest('hex')}`,
  )
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** What a code host reported. */
interface GitChange {
  repoProject: string
  slug: string
  hash: string
  branch: string
  action: string
  /** Of pull requests. */
  number?: unknown
  draft?: unknown
  state?: unknown
  title?: unknown
}

/** Reads a webhook of one code host; undefined when it is a ping or the deletion of a branch, which start nothing. */
type ReadChange = (payload: JsonObject, headers: Record<string, string>) => GitChange | undefined

/** Code hosts by the last part of the webhook's path. */
export const gitSources: ReadonlyMap<string, ReadChange> = new Map([
  ['github', readGithub],
  ['gitlab', readGitlab],
  ['stash', readStash],
  ['bitbucket', readBitbucket],
])

function readGithub(payload: JsonObject, headers: Record<string, string>): GitChange | undefined {
  if (payload['hook_id'] !== undefined) return undefined
  const repository = objectOf(payload['repository'])
  const slug = text(repository['name'])
  const pullRequest = payload['pull_request']
  if (isObject(pullRequest)) {
    return {
      repoProject: text(fieldOf(repository['owner'], 'login')),
      slug,
      hash: text(fieldOf(pullRequest['head'], 'sha')),
      branch: text(fieldOf(pullRequest['head'], 'ref')),
      action: `pull_request:${text(payload['action'])}`,
      ...pick(pullRequest, ['number', 'draft', 'state', 'title']),
    }
  }
  if (payload['ref_type'] === 'branch') {
    const repoProject = text(fieldOf(repository['owner'], 'login'))
    return { repoProject, slug, hash: '', branch: text(payload['ref']), action: `branch:${headers['x-github-event'] ?? ''}` }
  }
  return {
    repoProject: text(fieldOf(repository['owner'], 'name')),
    slug,
    hash: text(payload['after']),
    branch: toBranch(payload['ref']),
    action: 'push:push',
  }
}

function readGitlab(payload: JsonObject): GitChange {
  return {
    repoProject: text(fieldOf(payload['project'], 'namespace')),
    slug: text(fieldOf(payload['project'], 'name')),
    hash: text(payload['after']),
    branch: toBranch(payload['ref']),
    action: text(payload['object_kind']),
  }
}

function readStash(payload: JsonObject): GitChange | undefined {
  const [change] = objectsOf(payload['refChanges'] ?? payload['changes'])
  return unlessDeleted({ ...ofRepository(payload['repository']), ...ofChange(change), action: '' })
}

function readBitbucket(payload: JsonObject, headers: Record<string, string>): GitChange | undefined {
  if (Object.keys(payload).length === 0) return undefined
  const action = headers['x-event-key'] ?? ''
  if (action === 'repo:push' || action === 'pullrequest:fulfilled') return unlessDeleted(readBitbucketCloud(payload, action))
  return unlessDeleted(readBitbucketServer(payload, action))
}

function readBitbucketCloud(payload: JsonObject, action: string): GitChange {
  const repository = objectOf(payload['repository'])
  const repoProject = textOf(fieldOf(repository['owner'], 'username')) ?? text(fieldOf(repository['project'], 'key'))
  const place = { repoProject, slug: text(repository['full_name']), action }
  if (action === 'pullrequest:fulfilled') {
    const pullRequest = objectOf(payload['pullrequest'])
    const branch = text(fieldOf(fieldOf(pullRequest['destination'], 'branch'), 'name'))
    return { ...place, hash: text(fieldOf(pullRequest['merge_commit'], 'hash')), branch }
  }
  const [change = {}] = objectsOf(fieldOf(payload['push'], 'changes'))
  // A deleted branch has nothing new.
  if (!isObject(change['new'])) return { ...place, hash: noCommit, branch: '' }
  const [commit] = objectsOf(change['commits'])
  return { ...place, hash: text(commit?.['hash']), branch: text(change['new']['name']) }
}

function readBitbucketServer(payload: JsonObject, action: string): GitChange {
  if (!isObject(payload['pullRequest'])) {
    const [change] = objectsOf(payload['changes'])
    return { ...ofRepository(payload['repository']), ...ofChange(change), action }
  }
  const pullRequest = payload['pullRequest']
  const merged = action === 'pr:merged'
  const ref = objectOf(pullRequest[merged ? 'toRef' : 'fromRef'])
  const mergeCommit = fieldOf(fieldOf(pullRequest['properties'], 'mergeCommit'), 'id')
  return {
    ...ofRepository(ref['repository']),
    hash: text(merged ? mergeCommit : ref['latestCommit']),
    branch: toBranch(ref['id']),
    action,
  }
}

function ofRepository(repository: unknown): { repoProject: string; slug: string } {
  return { repoProject: text(fieldOf(fieldOf(repository, 'project'), 'key')), slug: text(fieldOf(repository, 'slug')) }
}

function ofChange(change: JsonObject | undefined): { hash: string; branch: string } {
  return { hash: text(change?.['toHash']), branch: toBranch(change?.['refId'] ?? fieldOf(change?.['ref'], 'id')) }
}

/** How the absence of a commit is written. */
const noCommit = '0'.repeat(40)

function unlessDeleted(change: GitChange): GitChange | undefined {
  return change.hash.startsWith('000000000') ? undefined : change
}

function toBranch(ref: unknown): string {
  return text(ref).replace(/^refs\/heads\//, '')
}

function text(value: unknown): string {
  return textOf(value) ?? ''
}

function pick(from: object, names: string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, fieldOf(from, name)]).filter(([, value]) => value !== undefined))
}
