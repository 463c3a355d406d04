/** Webhooks of Bitbucket: cloud, server, and Stash, as the server was called. */
import { fieldAt, fieldOf, isObject, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { type GitChange, isNoCommit, refFields, text, toBranch } from './change.ts'

/** Refs of one push; the rest of a larger one starts nothing. */
const mostRefs = 100

export function readStash({ refChanges, changes, repository }: JsonObject): readonly GitChange[] {
  return ofChanges(refChanges ?? changes, repository, '')
}

export function readBitbucket(payload: JsonObject, headers: Readonly<Record<string, string>>) {
  if (Object.keys(payload).length === 0) return undefined
  const action = headers['x-event-key'] ?? ''
  // The test of a connection.
  if (action === 'diagnostics:ping') return undefined
  if (action === 'repo:push' || action === 'pullrequest:fulfilled') return readCloud(payload, action)
  return readServer(payload, action)
}

function readCloud({ repository, pullrequest, push }: JsonObject, action: string): readonly GitChange[] {
  const repoProject = text(repository, 'owner', 'username') || text(repository, 'project', 'key')
  const place = { repoProject, slug: text(repository, 'full_name'), action }
  if (action === 'pullrequest:fulfilled') {
    const branch = text(pullrequest, 'destination', 'branch', 'name')
    return [{ ...place, hash: text(pullrequest, 'merge_commit', 'hash'), branch }]
  }
  // A deleted branch has nothing new.
  const changes = objectsOf(fieldOf(push, 'changes')).filter((change) => isObject(change['new']))
  return changes.slice(0, mostRefs).map((change) => ({ ...place, ...ofCloudChange(change) }))
}

function ofCloudChange(change: JsonObject): ChangedRef {
  const [commit] = objectsOf(change['commits'])
  const branch = text(change, 'new', 'name')
  const isTag = text(change, 'new', 'type') === 'tag'
  const ref = `refs/${isTag ? 'tags' : 'heads'}/${branch}`
  const hash = text(commit, 'hash') || text(change, 'new', 'target', 'hash')
  return { ...withoutFiles, ...refFields(ref), hash, branch: isTag ? ref : branch }
}

function readServer({ pullRequest, changes, repository }: JsonObject, action: string): GitChange | readonly GitChange[] {
  if (!isObject(pullRequest)) return ofChanges(changes, repository, action)
  const merged = action === 'pr:merged'
  const ref = fieldOf(pullRequest, merged ? 'toRef' : 'fromRef')
  const hash = merged ? text(pullRequest, 'properties', 'mergeCommit', 'id') : text(ref, 'latestCommit')
  return { ...ofRepository(fieldOf(ref, 'repository')), hash, branch: toBranch(fieldOf(ref, 'id')), action }
}

function ofRepository(repository: unknown): Pick<GitChange, 'repoProject' | 'slug'> {
  return { repoProject: text(repository, 'project', 'key'), slug: text(repository, 'slug') }
}

/** What names no ref is an event all the same, of its action. */
function ofChanges(changes: unknown, repository: unknown, action: string): readonly GitChange[] {
  const listed = objectsOf(changes)
  const read = (listed.length === 0 ? [undefined] : listed).map((change) => ({
    ...ofRepository(repository),
    ...ofChange(change),
    action,
  }))
  return read.filter(({ hash }) => !isNoCommit(hash)).slice(0, mostRefs)
}

type ChangedRef = Pick<GitChange, 'hash' | 'branch' | 'ref' | 'tag' | 'pathsUnknown'>

function ofChange(change: JsonObject | undefined): ChangedRef {
  const ref = fieldOf(change, 'refId') ?? fieldAt(change, 'ref', 'id')
  return { ...withoutFiles, hash: text(change, 'toHash'), branch: toBranch(ref), ...refFields(ref) }
}

const withoutFiles = { pathsUnknown: 'The changed files are unknown: Bitbucket lists none.' }
