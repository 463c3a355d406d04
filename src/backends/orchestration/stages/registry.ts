/** All stage types that the engine knows. */

import { stageDescriptions } from '../../../stage-types/all.ts'
import type { OutsideSettings } from '../../outside/settings.ts'
import { checkPreconditionsStage } from './check-preconditions.ts'
import { deleteApplicationStage } from './delete-application.ts'
import { deletePipelineStage } from './delete-pipeline.ts'
import { dependsOnExecutionStage } from './depends-on-execution.ts'
import { evaluateVariablesStage } from './evaluate-variables.ts'
import { executionWindowStage } from './execution-window.ts'
import { runCommandStage } from './infrastructure/jobs.ts'
import { infrastructureStageTypes } from './infrastructure/stages.ts'
import { manualJudgmentStage } from './manual-judgment.ts'
import { monitorPipelineStage } from './monitor-pipeline.ts'
import { pipelineStage } from './pipeline.ts'
import { pipelineTemplateStages } from './pipeline-templates.ts'
import { deleteProjectStage, upsertProjectStage } from './projects.ts'
import { reorderPipelinesStage } from './reorder-pipelines.ts'
import { savePipelineStage } from './save-pipeline.ts'
import type { StageType, StageTypes } from './stage-type.ts'
import { updatePipelineStage } from './update-pipeline.ts'
import { upsertApplicationStages } from './upsert-application.ts'
import { waitStage, waitUntilStage } from './wait.ts'
import { preconfiguredWebhookStage, webhookStage } from './webhook.ts'

const types: readonly StageType[] = [
  checkPreconditionsStage,
  dependsOnExecutionStage,
  evaluateVariablesStage,
  executionWindowStage,
  manualJudgmentStage,
  monitorPipelineStage,
  // Nothing to do: it ends SKIPPED, and what requires it goes on.
  { type: 'noop', steps: [] },
  pipelineStage,
  waitStage,
  waitUntilStage,
  webhookStage,
  runCommandStage,
  deleteApplicationStage,
  deletePipelineStage,
  deleteProjectStage,
  reorderPipelinesStage,
  savePipelineStage,
  updatePipelineStage,
  upsertProjectStage,
  ...upsertApplicationStages,
  ...pipelineTemplateStages,
  ...infrastructureStageTypes,
]

const described = types.map((type): StageType => ({ ...type, description: stageDescriptions.get(type.type) }))

/** With the types that the configuration adds. */
export function createStageTypes({ preconfigured }: Pick<OutsideSettings, 'preconfigured'> = { preconfigured: [] }): StageTypes {
  return new Map([...described, ...preconfigured.map(preconfiguredWebhookStage)].map((type) => [type.type, type]))
}
