/** All stage types that the engine knows. */
import { checkPreconditionsStage } from './check-preconditions.ts'
import { dependsOnExecutionStage } from './depends-on-execution.ts'
import { evaluateVariablesStage } from './evaluate-variables.ts'
import { manualJudgmentStage } from './manual-judgment.ts'
import { monitorPipelineStage } from './monitor-pipeline.ts'
import { noopStage } from './noop.ts'
import { pipelineStage } from './pipeline.ts'
import type { StageType, StageTypes } from './stage-type.ts'
import { waitStage } from './wait.ts'
import { waitUntilStage } from './wait-until.ts'

const types: readonly StageType[] = [
  checkPreconditionsStage,
  dependsOnExecutionStage,
  evaluateVariablesStage,
  manualJudgmentStage,
  monitorPipelineStage,
  noopStage,
  pipelineStage,
  waitStage,
  waitUntilStage,
]

export const stageTypes: StageTypes = new Map(types.map((type) => [type.type, type]))
