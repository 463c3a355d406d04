/** Jobs with their pods. */
import { definedOf } from '@fairlead/base/json/values.ts'
import type { Job } from '../../infrastructure/model.ts'
import { millisecondsOf } from '../objects.ts'
import { completionDetailsOf, describeFailure, type JobPod, type JobState } from './job-state.ts'
import type { KeptPod, KeptWorkload } from './kept-object.ts'
import { fullNameOf, ownFields } from './views.ts'

type JobWorkload = KeptWorkload & { readonly job: JobState }

export function isJob(workload: KeptWorkload): workload is JobWorkload {
  return workload.job !== undefined
}

export interface JobParts {
  readonly account: string
  readonly workload: JobWorkload
  readonly pods: readonly KeptPod[]
  /** Whether the answer lists them. */
  readonly listsPods: boolean
}

export function toJob({ account, workload, pods, listsPods }: JobParts): Job {
  const { job, moniker, namespace, createdMs = 0 } = workload
  const started = podsByStart(pods)
  const hasFailed = job.state === 'Failed'
  return {
    provider: 'kubernetes',
    id: fullNameOf(workload),
    name: workload.name,
    account,
    location: namespace,
    moniker,
    coOwners: workload.coOwners ?? [],
    state: job.state,
    createdMs,
    completedMs: job.completedMs,
    completionDetails: completionDetailsOf(started.at(-1), job),
    details: {
      ...ownFields(workload),
      labels: workload.labels,
      ...definedOf({
        pods: listsPods ? started : undefined,
        mostRecentPodName: started.at(-1)?.name,
        message: hasFailed ? job.message : undefined,
        reason: hasFailed ? job.reason : undefined,
        failureDetails: hasFailed ? describeFailure(started) : undefined,
      }),
    },
  }
}

/** Those that have not started come last. */
function podsByStart(pods: readonly KeptPod[]): JobPod[] {
  const startOf = ({ status, createdMs }: KeptPod) => millisecondsOf(status?.['startTime']) ?? createdMs ?? Infinity
  return pods.toSorted((one, other) => startOf(one) - startOf(other)).map(({ name, status = {} }) => ({ name, status }))
}
