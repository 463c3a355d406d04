/** Connection of an app with its repository: a pipeline that a push starts, which deploys what was pushed. */

import { randomBytes } from 'node:crypto'
import { shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { appFilePath } from '@fairlead/model/app-file/read-app-file.ts'
import { appFileSource, isFromAppFile } from '@fairlead/model/app-file/source.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { RevisionOrder } from '../orchestration/app-revisions.ts'
import type { CompiledObject } from './compile.ts'

export interface Connection {
  /** Address of the Git repository. */
  readonly repository: string
  /** Branch that is deployed to the first environment. */
  readonly branch: string
  /** Host of the repository, as webhooks name it: `github`, or `git` for one without a host. */
  readonly source: string
  /** Artifact account for Git. */
  readonly account: string | undefined
  /** Key of the signatures of webhooks. */
  readonly secret: string
}

export const pushPipelineName = 'push'
const stageType = 'deployRevision'
/** Events by which hosts report pushes, and deleted branches. */
const pushes = ['push:push', 'push', 'repo:push', 'repo:refs_changed']
const maxFileBytes = 256 * 1024
const shortLength = 7

export function newSecret(): string {
  return randomBytes(32).toString('hex')
}

/** @param hasPreviews Whether other branches are deployed, too */
export function compileConnection(
  { repository, branch, source, account, secret }: Connection,
  {
    application,
    digest,
    hasPreviews,
  }: {
    readonly application: string
    readonly digest: string
    readonly hasPreviews: boolean
  },
): CompiledObject {
  const place = definedOf({ repository, artifactAccount: account })
  const content = {
    application,
    name: pushPipelineName,
    description: `Deploys what is pushed, as "fairlead deploy" does. Made by "fairlead connect".`,
    source: appFileSource,
    appFile: { digest },
    triggers: [
      {
        id: `app-file-${application}-push`,
        type: 'git',
        enabled: true,
        ...{ source, ...place, secret, poll: true },
        events: hasPreviews ? [...pushes, 'branch:delete'] : pushes,
        ...(!hasPreviews && { branch: branch.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') }),
      },
    ],
    stages: [
      {
        refId: 'deploy',
        requisiteStageRefIds: [],
        type: stageType,
        name: 'Deploy the revision',
        ...place,
        branch,
      },
    ],
  }
  return { kind: 'pipeline', name: pushPipelineName, content }
}

/** Trigger and stage of the pipeline. */
const toPush = shape({
  repository: textOf,
  source: textOf,
  secret: textOf,
  artifactAccount: textOf,
  branch: textOf,
})

/** Connection in the stored pipeline; undefined: it was not made by one. */
export function connectionOf(pipeline: JsonObject | undefined): Connection | undefined {
  if (pipeline === undefined || !isFromAppFile(pipeline)) return undefined
  const { triggers, stages } = readPipeline(pipeline)
  const { repository, source, secret, artifactAccount: account } = toPush(triggers[0])
  const { branch } = toPush(stages.find(({ type }) => type === stageType))
  if (!repository || !source || !secret || branch === undefined) return undefined
  return { repository, branch, source, account, secret }
}

/** A revision, kept as the source of a build. */
interface FetchedRevision {
  /** Id. */
  readonly source: string
  /** Text of its app file. */
  readonly file: string
  readonly commit: string
}

/** @throws {PortError} naming the repository, or what the revision does not have */
export async function fetchRevision(
  { application, repository, account, branch, commit: wanted }: RevisionOrder,
  { ports: { infrastructure, builds } }: Pick<BackendContext, 'ports'>,
  as: Caller,
): Promise<FetchedRevision> {
  const { versions } = infrastructure
  if (versions === undefined || builds.sourceServer === undefined)
    throw new PortError(
      400,
      'Revisions are deployed only by the embedded infrastructure and its builds. Deploy an image instead.',
    )
  const place = { url: repository, account }
  const ref = `refs/heads/${branch}`
  const commit = wanted ?? (await versions.gitRefs(place, undefined)).refs?.[ref]
  if (commit === undefined)
    throw new PortError(400, `The repository ${repository} has no branch ${branch}.`)
  const archive =
    account === undefined
      ? await versions.archive(place, commit)
      : await infrastructure.fetchArtifactBytes(
          { type: 'git/repo', reference: repository, version: commit, artifactAccount: account },
          as,
        )
  const source = await builds.keepSource({ application, archive }, as)
  const order = { application, source, path: appFilePath, maxBytes: maxFileBytes }
  const file = await builds.sourceFile(order, as)
  if (file === undefined)
    throw new PortError(
      400,
      `The commit ${commit.slice(0, shortLength)} has no ${appFilePath} of at most 256 KiB. Type fairlead init, and commit the file.`,
    )
  return { source, file: file.toString('utf8'), commit }
}

export function describePush(commit: string, branch: string): string {
  return `Push of ${commit.slice(0, shortLength)} to ${branch}`
}
