/** Pipelines of GitLab as builds. */
import { definedOf, fieldAt, type JsonObject, numberOf, textOf } from '../../../json/values.ts'

/** Of pipelines that have ended, or that wait for a person, perhaps for good. */
const results: Readonly<Record<string, string>> = {
  success: 'SUCCESS',
  failed: 'FAILURE',
  canceled: 'ABORTED',
  skipped: 'NOT_BUILT',
  manual: 'NOT_BUILT',
}

export function numberOfPipeline(pipeline: JsonObject): number {
  return numberOf(pipeline['id']) ?? 0
}

export function isRunningPipeline(pipeline: JsonObject): boolean {
  return results[textOf(pipeline['status']) ?? ''] === undefined
}

/** @param job The path of the project, perhaps with a branch @param project Its path */
export function toBuild(pipeline: JsonObject, job: string, project: string): JsonObject {
  const number = numberOfPipeline(pipeline)
  const result = results[textOf(pipeline['status']) ?? '']
  const startMs = timeOf(pipeline['started_at']) ?? timeOf(pipeline['created_at'])
  const endMs = timeOf(pipeline['finished_at']) ?? timeOf(pipeline['updated_at'])
  const seconds = numberOf(pipeline['duration'])
  const lengthMs = startMs !== undefined && endMs !== undefined ? Math.max(0, endMs - startMs) : 0
  return definedOf({
    building: result === undefined,
    number,
    result,
    timestamp: startMs === undefined ? undefined : String(startMs),
    duration: result === undefined ? 0 : seconds === undefined ? lengthMs : seconds * 1000,
    url: textOf(pipeline['web_url']),
    id: `${job}-${number}`,
    name: job,
    fullDisplayName: `${textOf(pipeline['name']) ?? textOf(pipeline['ref']) ?? project} (${number})`,
    scm: toRevisions(pipeline, project),
  })
}

/** It waits for a person. */
export function isManual(pipeline: JsonObject): boolean {
  return pipeline['status'] === 'manual'
}

/** @param commit Of the pipeline, as the server describes it */
export function withCommit(build: JsonObject, commit: unknown): JsonObject {
  const [revision] = Array.isArray(build['scm']) ? (build['scm'] as JsonObject[]) : []
  if (revision === undefined) return build
  const details = {
    committer: textOf(fieldAt(commit, 'committer_name')),
    message: textOf(fieldAt(commit, 'message')),
    timestamp: textOf(fieldAt(commit, 'committed_date')),
    compareUrl: textOf(fieldAt(commit, 'web_url')),
  }
  return { ...build, scm: [{ ...revision, ...definedOf(details) }] }
}

function toRevisions(pipeline: JsonObject, project: string): JsonObject[] | undefined {
  const sha1 = textOf(pipeline['sha'])
  if (sha1 === undefined) return undefined
  const web = textOf(pipeline['web_url'])
  const end = web?.indexOf('/-/') ?? -1
  const remoteUrl = web === undefined || end < 0 ? undefined : `${web.slice(0, end)}.git`
  return [definedOf({ name: project, branch: textOf(pipeline['ref']), sha1, remoteUrl })]
}

function timeOf(value: unknown): number | undefined {
  const ms = Date.parse(textOf(value) ?? '')
  return Number.isNaN(ms) ? undefined : ms
}
