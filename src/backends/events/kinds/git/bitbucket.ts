/** Webhooks of Bitbucket: cloud, server, and Stash, as the server was called. */
import { fieldAt, fieldOf, isObject, type JsonObject, objectsOf } from '../../../../json/values.ts'
import { type GitChange, noCommit, refFields, text, toBranch, unlessDeleted } from './change.ts'

export function readStash({ refChanges, changes, repository }: JsonObject): GitChange | undefined {
  const [change] = objectsOf(refChanges ?? changes)
  return unlessDeleted({ ...ofRepository(repository), ...ofChange(change), action: '' })
}

export function readBitbucket(payload: JsonObject, headers: Readonly<Record<string, string>>): GitChange | undefined {
  if (Object.keys(payload).length === 0) return undefined
  const action = headers['x-event-key'] ?? ''
  // The test of a connection.
  if (action === 'diagnostics:ping') return undefined
  if (action === 'repo:push' || action === 'pullrequest:fulfilled') return unlessDeleted(readCloud(payload, action))
  return unlessDeleted(readServer(payload, action))
}

function readCloud({ repository, pullrequest, push }: JsonObject, action: string): GitChange {
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
  const branch = text(change, 'new', 'name')
  const isTag = text(change, 'new', 'type') === 'tag'
  const ref = `refs/${isTag ? 'tags' : 'heads'}/${branch}`
  const hash = text(commit, 'hash') || text(change, 'new', 'target', 'hash')
  return { ...place, ...withoutFiles, ...refFields(ref), hash, branch: isTag ? ref : branch }
}

function readServer({ pullRequest, changes, repository }: JsonObject, action: string): GitChange {
  if (!isObject(pullRequest)) {
    const [change] = objectsOf(changes)
    return { ...ofRepository(repository), ...ofChange(change), action }
  }
  const merged = action === 'pr:merged'
  const ref = fieldOf(pullRequest, merged ? 'toRef' : 'fromRef')
  const hash = merged ? text(pullRequest, 'properties', 'mergeCommit', 'id') : text(ref, 'latestCommit')
  return { ...ofRepository(fieldOf(ref, 'repository')), hash, branch: toBranch(fieldOf(ref, 'id')), action }
}

function ofRepository(repository: unknown): Pick<GitChange, 'repoProject' | 'slug'> {
  return { repoProject: text(repository, 'project', 'key'), slug: text(repository, 'slug') }
}

function ofChange(change: JsonObject | undefined): Pick<GitChange, 'hash' | 'branch' | 'ref' | 'tag' | 'pathsUnknown'> {
  const ref = fieldOf(change, 'refId') ?? fieldAt(change, 'ref', 'id')
  return { ...withoutFiles, hash: text(change, 'toHash'), branch: toBranch(ref), ...refFields(ref) }
}

const withoutFiles = { pathsUnknown: 'The changed files are unknown: Bitbucket lists none.' }
