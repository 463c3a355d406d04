/** The doctor as administrators ask for it while the gateway runs. */
import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import type { ExaminationModel } from '@fairlead/gateway/operations/examination.ts'
import type { Config } from '../config/config.ts'

interface ExaminerOptions {
  readonly config: Config
  readonly notices?: readonly string[]
  readonly now: () => number
}

/** The doctor is loaded when it is asked; examinations at the same time are one. */
export function createExaminer({
  config,
  notices = [],
  now,
}: ExaminerOptions): () => Promise<ExaminationModel> {
  return sharedWork(async () => {
    const doctor = await import('./doctor.ts')
    return doctor.examine({ config, notices, publicUrl: undefined, now })
  })
}
