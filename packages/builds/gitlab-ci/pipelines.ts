/** Pipelines of GitLab as builds. */
import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, numberOf, textOf } from '@fairlead/base/json/values.ts'
import type { ListedBuild } from '../listed-build.ts'

/** Results of pipelines that have ended, or wait for a person, perhaps for good. */
const results: Readonly<Record<string, string>> = {
  success: 'SUCCESS',
  failed: 'FAILURE',
  canceled: 'ABORTED',
  skipped: 'NOT_BUILT',
  manual: 'NOT_BUILT',
}

export type GitlabPipeline = ShapeOf<typeof toPipeline>
export const toPipeline = shape({
  id: or(numberOf, 0),
  projectId: [numberOf, 'project_id'],
  status: or(textOf, ''),
  ref: textOf,
  sha: textOf,
  name: textOf,
  url: [textOf, 'web_url'],
  beginMs: [toTime, 'started_at', 'created_at'],
  endMs: [toTime, 'finished_at', 'updated_at'],
  seconds: [numberOf, 'duration'],
})
export const toPipelines = list(toPipeline)

const toCommit = shape({
  committer: [textOf, 'committer_name'],
  contact: [(email) => (textOf(email) === undefined ? undefined : { email }), 'author_email'],
  message: textOf,
  timestamp: [textOf, 'committed_date'],
  compareUrl: [textOf, 'web_url'],
})

export function isRunning({ status }: GitlabPipeline): boolean {
  return results[status] === undefined
}

/** @param job The path of the project, perhaps with a branch @param project Its path @param commit As the server describes it */
export function toBuild(
  pipeline: GitlabPipeline,
  job: string,
  project: string,
  commit?: unknown,
): ListedBuild {
  const { id, status, ref, sha, beginMs, endMs, seconds, url } = pipeline
  const result = results[status]
  const ms =
    seconds === undefined
      ? Math.max(0, (endMs ?? 0) - (beginMs ?? Number.POSITIVE_INFINITY))
      : seconds * 1000
  const end = url?.indexOf('/-/') ?? -1
  const remoteUrl = end < 0 ? undefined : `${url?.slice(0, end)}.git`
  return definedOf({
    building: result === undefined,
    number: id,
    result,
    timestamp: beginMs?.toString(),
    duration: result === undefined ? 0 : ms,
    url,
    id: `${job}-${id}`,
    name: job,
    fullDisplayName: `${pipeline.name ?? ref ?? project} (${id})`,
    scm: sha && [
      definedOf({
        name: project,
        branch: ref,
        sha1: sha,
        remoteUrl,
        ...definedOf(toCommit(commit)),
      }),
    ],
  })
}

function toTime(value: unknown): number | undefined {
  return Date.parse(textOf(value) ?? '') || undefined
}
