/** Dependencies of a submission. */
import type { FastifyBaseLogger } from 'fastify'
import type { CallService } from '../../backend.ts'
import type { PipelineLimits } from '../../limits.ts'
import type { Access } from '../../rights/access.ts'
import type { Execution } from '../model.ts'
import type { StageTypes } from '../stages/stage-type.ts'

export interface SubmissionSources {
  /** Milliseconds since the epoch. */
  now: () => number
  nextId: () => string
  limits: PipelineLimits
  stageTypes: StageTypes
  /** Whether a permission service decides what users may do. */
  judges: boolean
  /** What a user may do. @throws {BackendError} 503 while the permission service cannot be asked */
  accessOf: (user: string | undefined) => Promise<Access>
  findExecution: (id: string) => Execution | undefined
  /** Newest run of a stored pipeline. */
  newestRun: (configId: string) => Execution | undefined
  call: CallService
  log: FastifyBaseLogger
}
