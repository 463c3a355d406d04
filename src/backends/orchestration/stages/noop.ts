/** `noop`: nothing to do, so it ends SKIPPED and what requires it goes on. */
import type { StageType } from './stage-type.ts'

export const noopStage: StageType = { type: 'noop', steps: [] }
