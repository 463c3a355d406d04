/** Source control: webhooks of code hosts, and the triggers that they fire. @see docs/contracts/events.md#git */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { fieldAt, fieldOf, isObject, type JsonObject, objectsOf, textOf, textsOf } from '../../../json/values.ts'
import type { Event } from '../event.ts'
import { pushedArtifacts } from '../pushed-artifacts.ts'
import { pick, sameName, type TriggerKind } from './kind.ts'

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

/** Either the trigger has a secret and the sender proves that it knows it, or neither is the case. */
function isSigned(trigger: JsonObject, { headers, raw }: Event): boolean {
  const secret = textOf(trigger['secret'])
  // A host that signs with SHA-256 may add SHA-1 for older receivers.
  const signature = headers['x-hub-signature-256'] ?? headers['x-hub-signature']
  const token = headers['x-gitlab-token']
  if (secret === undefined) return signature === undefined && token === undefined
  if (signature === undefined) return isEqual(token, secret)
  const algorithm = /^(sha1|sha256)=/.exec(signature)?.[1]
  if (algorithm === undefined) return false
  const hash = createHmac(algorithm, secret)
    .update(raw ?? '')
    .digest('hex')
  return isEqual(signature, `${algorithm}=${hash}`)
}

function isEqual(given: string | undefined, expected: string): boolean {
  const [one, other] = [Buffer.from(given ?? ''), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** What a code host reported; of a pull request, also its number, state and title, and whether it is a draft. */
interface GitChange extends JsonObject {
  repoProject: string
  slug: string
  hash: string
  branch: string
  action: string
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
  const { hook_id: ping, repository, pull_request: pullRequest, ref_type: refType, ref } = payload
  if (ping !== undefined) return undefined
  const slug = text(repository, 'name')
  const login = text(repository, 'owner', 'login')
  if (isObject(pullRequest)) {
    return {
      repoProject: login,
      slug,
      hash: text(pullRequest, 'head', 'sha'),
      branch: text(pullRequest, 'head', 'ref'),
      action: `pull_request:${text(payload, 'action')}`,
      ...pick(pullRequest, ['number', 'draft', 'state', 'title']),
    }
  }
  if (refType === 'branch') {
    return { repoProject: login, slug, hash: '', branch: text(ref), action: `branch:${headers['x-github-event'] ?? ''}` }
  }
  const repoProject = text(repository, 'owner', 'name')
  return { repoProject, slug, hash: text(payload, 'after'), branch: toBranch(ref), action: 'push:push' }
}

function readGitlab(payload: JsonObject): GitChange {
  return {
    repoProject: text(payload, 'project', 'namespace'),
    slug: text(payload, 'project', 'name'),
    hash: text(payload, 'after'),
    branch: toBranch(payload['ref']),
    action: text(payload, 'object_kind'),
  }
}

function readStash({ refChanges, changes, repository }: JsonObject): GitChange | undefined {
  const [change] = objectsOf(refChanges ?? changes)
  return unlessDeleted({ ...ofRepository(repository), ...ofChange(change), action: '' })
}

function readBitbucket(payload: JsonObject, headers: Record<string, string>): GitChange | undefined {
  if (Object.keys(payload).length === 0) return undefined
  const action = headers['x-event-key'] ?? ''
  if (action === 'repo:push' || action === 'pullrequest:fulfilled') return unlessDeleted(readBitbucketCloud(payload, action))
  return unlessDeleted(readBitbucketServer(payload, action))
}

function readBitbucketCloud({ repository, pullrequest, push }: JsonObject, action: string): GitChange {
  const repoProject = text(repository, 'owner', 'username') || text(repository, 'project', 'key')
  const place = { repoProject, slug: text(repository, 'full_name'), action }
  if (action === 'pullrequest:fulfilled') {
    const branch = text(pullrequest, 'destination', 'branch', 'name')
    return { ...place, hash: text(pullrequest, 'merge_commit', 'hash'), branch }
  }
  const [change = {}] = objectsOf(fieldOf(push, 'changes'))
  // A deleted branch has nothing new.
  if (!isObject(change['new'])) return { ...place, hash: noCommit, branch: '' }
  const [commit] = objectsOf(change['commits'])
  return { ...place, hash: text(commit, 'hash'), branch: text(change, 'new', 'name') }
}

function readBitbucketServer({ pullRequest, changes, repository }: JsonObject, action: string): GitChange {
  if (!isObject(pullRequest)) {
    const [change] = objectsOf(changes)
    return { ...ofRepository(repository), ...ofChange(change), action }
  }
  const merged = action === 'pr:merged'
  const ref = fieldOf(pullRequest, merged ? 'toRef' : 'fromRef')
  const hash = merged ? text(pullRequest, 'properties', 'mergeCommit', 'id') : text(ref, 'latestCommit')
  return { ...ofRepository(fieldOf(ref, 'repository')), hash, branch: toBranch(fieldOf(ref, 'id')), action }
}

function ofRepository(repository: unknown): { repoProject: string; slug: string } {
  return { repoProject: text(repository, 'project', 'key'), slug: text(repository, 'slug') }
}

function ofChange(change: JsonObject | undefined): { hash: string; branch: string } {
  return { hash: text(change, 'toHash'), branch: toBranch(fieldOf(change, 'refId') ?? fieldAt(change, 'ref', 'id')) }
}

/** How the absence of a commit is written. */
const noCommit = '0'.repeat(40)

function unlessDeleted(change: GitChange): GitChange | undefined {
  return change.hash.startsWith('000000000') ? undefined : change
}

function toBranch(ref: unknown): string {
  return text(ref).replace(/^refs\/heads\//, '')
}

/** A text at a path, or an empty one. */
function text(from: unknown, ...path: readonly string[]): string {
  return textOf(fieldAt(from, ...path)) ?? ''
}
