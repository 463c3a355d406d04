/** What preparing a submission needs from around it. */
import type { FastifyBaseLogger } from 'fastify'
import type { CallService } from '../../backend.ts'
import type { Execution } from '../model.ts'

export interface SubmissionSources {
  /** Milliseconds since the epoch. */
  now: () => number
  nextId: () => string
  findExecution: (id: string) => Execution | undefined
  /** Newest run of a stored pipeline. */
  newestRun: (configId: string) => Execution | undefined
  call: CallService
  log: FastifyBaseLogger
}
