/** Runs of workflows as builds. */
import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import type { ListedBuild } from '../listed-build.ts'

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

const toCommit = shape({
  message: textOf,
  timestamp: textOf,
  committer: shape({ name: textOf }),
  author: shape({ email: textOf }),
})

export type WorkflowRun = ShapeOf<typeof toRun>
export const toRun = shape({
  id: or(numberOf, 0),
  name: textOf,
  /** Undefined where it has none, such as scans that GitHub adds. Forgejo has no path. */
  file: [toFile, 'path', 'workflow_id'],
  event: textOf,
  branch: [textOf, 'head_branch', 'prettyref'],
  conclusion: textOf,
  status: textOf,
  attempt: [numberOf, 'run_attempt'],
  serial: [numberOf, 'run_number', 'index_in_repo'],
  url: [textOf, 'html_url'],
  beginMs: [toTime, 'run_started_at', 'started_at', 'started', 'created_at', 'created'],
  endMs: [toTime, 'completed_at', 'stopped', 'updated_at', 'updated'],
  sha1: [textOf, 'head_sha', 'commit_sha'],
  commit: [toCommit, 'head_commit'],
  starter: [shape({ login: textOf }), 'trigger_user'],
  title: [textOf, 'display_title', 'title'],
  repository: shape({ html_url: textOf, clone_url: textOf }),
})

export const toRuns = shape({ workflow_runs: list(toRun) })

/** Name of a workflow file: of `.github/workflows/build.yml` at GitHub, `build.yml@refs/heads/main` at Gitea. */
export function toFile(path: unknown): string | undefined {
  const file = textOf(path)?.split('@', 1)[0]?.replace(/^.*\//, '')
  return file !== undefined && /\.ya?ml$/.test(file) ? file : undefined
}

/** Where Gitea has none, it writes that of 1970 or of the year 1. */
function toTime(value: unknown): number | undefined {
  const ms = Date.parse(textOf(value) ?? '')
  return ms > 0 ? ms : undefined
}

/** Undefined while it runs. */
export function resultOf({ conclusion, status = '' }: WorkflowRun): string | undefined {
  return results[conclusion ?? status] ?? (status === 'completed' ? 'FAILURE' : undefined)
}

/** In the form of a list, with the fields of one build that need no further request. */
export function toBuild(run: WorkflowRun, job: string): ListedBuild {
  const { id, attempt, beginMs, endMs, url, serial } = run
  const result = resultOf(run)
  const hasEnded = result !== undefined && beginMs !== undefined && endMs !== undefined
  return definedOf({
    building: result === undefined,
    number: id,
    result,
    attempt,
    timestamp: beginMs?.toString(),
    duration: hasEnded ? Math.max(0, endMs - beginMs) : 0,
    url,
    id: `${job}-${id}`,
    name: job,
    fullDisplayName: `${run.name ?? job}${serial === undefined ? '' : ` #${serial}`}`,
    scm: run.sha1 && [toRevision(run, run.sha1, job)],
  })
}

function toRevision(
  { commit, branch, starter, title, repository }: WorkflowRun,
  sha1: string,
  job: string,
): JsonObject {
  const web = repository.html_url
  return definedOf({
    name: job.slice(0, job.lastIndexOf('/')),
    branch,
    sha1,
    committer: commit.committer.name ?? starter.login,
    contact: commit.author.email && commit.author,
    message: commit.message ?? title,
    timestamp: commit.timestamp,
    compareUrl: web && `${web}/commit/${sha1}`,
    remoteUrl: repository.clone_url ?? web,
  })
}
