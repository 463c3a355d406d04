/** Webhooks of Bitbucket: cloud, server, and Stash, as the server was called. */
import { list, maybe, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { type GitChange, isNoCommit, refFields, toBranch } from './change.ts'

/** Refs of one push; the rest of a larger one starts nothing. */
const mostRefs = 100

const text = or(textOf, '')
const toHash = shape({ hash: text })

const toCloud = shape({
  repository: shape({
    full_name: text,
    owner: shape({ username: textOf }),
    project: shape({ key: text }),
  }),
  pullrequest: shape({
    destination: shape({ branch: shape({ name: text }) }),
    merge_commit: toHash,
  }),
  push: shape({
    changes: list(
      shape({
        commits: list(toHash),
        new: maybe(shape({ name: text, type: text, target: toHash })),
      }),
    ),
  }),
})

const toRepository = shape({ slug: text, project: shape({ key: text }) })
const toRef = shape({ id: text, latestCommit: text, repository: toRepository })
const toChange = shape({ refId: textOf, ref: shape({ id: text }), toHash: text })
const toServer = shape({
  repository: toRepository,
  changes: [list(toChange), 'refChanges', 'changes'],
  pullRequest: maybe(
    shape({ fromRef: toRef, toRef, properties: shape({ mergeCommit: shape({ id: text }) }) }),
  ),
})

export function readStash(payload: JsonObject): readonly GitChange[] {
  return ofChanges(toServer(payload), '')
}

export function readBitbucket(payload: JsonObject, headers: Readonly<Record<string, string>>) {
  if (Object.keys(payload).length === 0) return undefined
  const action = headers['x-event-key'] ?? ''
  if (action === 'repo:push' || action === 'pullrequest:fulfilled')
    return readCloud(payload, action)
  // The test of a connection, and what names no commit that was pushed.
  if (/^(?:diagnostics|pullrequest|issue):/.test(action)) return undefined
  return readServer(payload, action)
}

function readCloud(payload: JsonObject, action: string): readonly GitChange[] {
  const { repository, pullrequest, push } = toCloud(payload)
  const place = {
    repoProject: repository.owner.username ?? repository.project.key,
    slug: repository.full_name,
    repositories: [repository.full_name],
    action,
  }
  if (action === 'pullrequest:fulfilled')
    return [
      {
        ...place,
        hash: pullrequest.merge_commit.hash,
        branch: pullrequest.destination.branch.name,
      },
    ]
  // A deleted branch has nothing new.
  const changes = push.changes.flatMap(({ new: after, commits: [commit] }) => {
    if (after === undefined) return []
    const isTag = after.type === 'tag'
    const ref = `refs/${isTag ? 'tags' : 'heads'}/${after.name}`
    return {
      ...withoutFiles,
      ...refFields(ref),
      hash: commit?.hash || after.target.hash,
      branch: isTag ? ref : after.name,
    }
  })
  return changes.slice(0, mostRefs).map((change) => ({ ...place, ...change }))
}

function readServer(payload: JsonObject, action: string): GitChange | readonly GitChange[] {
  const server = toServer(payload)
  const { pullRequest } = server
  if (pullRequest === undefined) return ofChanges(server, action)
  const isMerged = action === 'pr:merged'
  const ref = isMerged ? pullRequest.toRef : pullRequest.fromRef
  const hash = isMerged ? pullRequest.properties.mergeCommit.id : ref.latestCommit
  return { ...ofRepository(ref.repository), hash, branch: toBranch(ref.id), action }
}

function ofRepository({
  project,
  slug,
}: ShapeOf<typeof toRepository>): Pick<GitChange, 'repoProject' | 'slug'> {
  return { repoProject: project.key, slug }
}

/** What names no ref is an event all the same, of its action. */
function ofChanges(
  { changes, repository }: ShapeOf<typeof toServer>,
  action: string,
): readonly GitChange[] {
  const read = (changes.length === 0 ? [toChange(undefined)] : changes).map(
    ({ refId, ref, toHash: hash }) => {
      const name = refId ?? ref.id
      return {
        ...ofRepository(repository),
        ...withoutFiles,
        hash,
        branch: toBranch(name),
        ...refFields(name),
        action,
      }
    },
  )
  return read.filter(({ hash }) => !isNoCommit(hash)).slice(0, mostRefs)
}

const withoutFiles = { pathsUnknown: 'The changed files are unknown: Bitbucket lists none.' }
