/** Runs of workflows as builds. */
import { definedOf, fieldAt, type JsonObject, numberOf, objectOf, textOf } from '../../../json/values.ts'

/** By conclusion; Forgejo has them as status. */
const results: Readonly<Record<string, string>> = {
  success: 'SUCCESS',
  neutral: 'SUCCESS',
  failure: 'FAILURE',
  timed_out: 'FAILURE',
  startup_failure: 'FAILURE',
  cancelled: 'ABORTED',
  stale: 'ABORTED',
  skipped: 'NOT_BUILT',
  // Waits for the approval of a contribution, perhaps for good.
  action_required: 'NOT_BUILT',
}

export function numberOfRun(run: unknown): number {
  return numberOf(fieldAt(run, 'id')) ?? 0
}

/** Name of the workflow file of a run; undefined where it has none, such as scans that GitHub adds. */
export function workflowFileOf(run: JsonObject): string | undefined {
  // `.github/workflows/build.yml` at GitHub, `build.yml@refs/heads/main` at Gitea; Forgejo has no path.
  const path = textOf(run['path'])?.split('@', 1)[0] ?? textOf(run['workflow_id'])
  const file = path?.slice(path.lastIndexOf('/') + 1)
  return file !== undefined && /\.ya?ml$/.test(file) ? file : undefined
}

export function branchOfRun(run: JsonObject): string | undefined {
  return textOf(run['head_branch']) ?? textOf(run['prettyref'])
}

export function isRunningRun(run: JsonObject): boolean {
  return resultOf(run) === undefined
}

/** Undefined while it runs. */
function resultOf(run: JsonObject): string | undefined {
  const result = results[textOf(run['conclusion']) ?? textOf(run['status']) ?? '']
  return result ?? (run['status'] === 'completed' ? 'FAILURE' : undefined)
}

/** In the form of a list, with the fields of one build that need no further request. */
export function toBuild(run: JsonObject, job: string): JsonObject {
  const number = numberOfRun(run)
  const result = resultOf(run)
  const beginMs = firstTime(run, ['run_started_at', 'started_at', 'started', 'created_at', 'created'])
  const endMs = firstTime(run, ['completed_at', 'stopped', 'updated_at', 'updated'])
  const hasEnded = result !== undefined && beginMs !== undefined && endMs !== undefined
  const serial = numberOf(run['run_number']) ?? numberOf(run['index_in_repo'])
  return definedOf({
    building: result === undefined,
    number,
    result,
    attempt: numberOf(run['run_attempt']),
    timestamp: beginMs === undefined ? undefined : String(beginMs),
    duration: hasEnded ? Math.max(0, endMs - beginMs) : 0,
    url: textOf(run['html_url']),
    id: `${job}-${number}`,
    name: job,
    fullDisplayName: [textOf(run['name']) ?? job, serial === undefined ? undefined : `#${serial}`].filter(Boolean).join(' '),
    scm: toRevisions(run, job),
  })
}

function toRevisions(run: JsonObject, job: string): JsonObject[] | undefined {
  const sha1 = textOf(run['head_sha']) ?? textOf(run['commit_sha'])
  if (sha1 === undefined) return undefined
  const commit = objectOf(run['head_commit'])
  const web = textOf(fieldAt(run, 'repository', 'html_url'))
  const revision = {
    name: job.slice(0, job.lastIndexOf('/')),
    branch: branchOfRun(run),
    sha1,
    committer: textOf(fieldAt(commit, 'committer', 'name')) ?? textOf(fieldAt(run, 'trigger_user', 'login')),
    message: textOf(commit['message']) ?? textOf(run['display_title']) ?? textOf(run['title']),
    timestamp: textOf(commit['timestamp']),
    compareUrl: web === undefined ? undefined : `${web}/commit/${sha1}`,
    remoteUrl: textOf(fieldAt(run, 'repository', 'clone_url')) ?? web,
  }
  return [definedOf(revision)]
}

/** The first of the fields that has a time; where Gitea has none, it writes that of 1970 or of the year 1. */
function firstTime(run: JsonObject, names: readonly string[]): number | undefined {
  return names.map((name) => Date.parse(textOf(run[name]) ?? '')).find((ms) => ms > 0)
}
