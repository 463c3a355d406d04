/** Records of new stages and tasks. */
import { executionFactor } from '../../limits.ts'
import type { Stage, Task } from '../model.ts'
import type { NewStage, Step } from '../stages/stage-type.ts'
import { StageError } from './failure.ts'
import { graphOf } from './graph.ts'
import type { StageRun } from './turn.ts'

type StageParts = Pick<
  Stage,
  'id' | 'refId' | 'type' | 'requisiteStageRefIds' | 'context' | 'startTimeExpiry'
> & {
  name?: string
}

export function createStage(parts: StageParts): Stage {
  return {
    ...parts,
    name: parts.name ?? parts.type,
    status: 'NOT_STARTED',
    outputs: {},
    tasks: [],
    engine: {},
  }
}

/**
 * Injects synthetic stages around a stage: those before it stand ahead of it in the list, those after it behind it, so that
 * the list reads in the order of running. The injected execution window takes number 0.
 *
 * @see docs/contracts/orchestration.md#record-of-a-stage
 *
 * @throws {StageError} when the execution would have too many
 */
export function injectStages(
  { execution, stage: parent, turn: { nextId, limits } }: StageRun,
  owner: 'STAGE_BEFORE' | 'STAGE_AFTER',
  added: readonly NewStage[],
  firstNumber = 1,
): Stage[] {
  const most = executionFactor * limits.stages
  if (execution.stages.length + added.length > most) {
    throw new StageError([
      `The stage would add ${added.length} stages, and an execution may have ${most}. Split it, or raise pipelines.max-stages.`,
    ])
  }
  const mark = owner === 'STAGE_BEFORE' ? '<' : '>'
  const refOf = (position: number) => `${parent.refId}${mark}${firstNumber + position}`
  const stages = added.map((parts, position) => ({
    ...createStage({
      id: nextId(),
      refId: refOf(position),
      type: parts.type,
      name: parts.name,
      context: parts.context,
      requisiteStageRefIds: (parts.requires ?? []).map(refOf),
    }),
    parentStageId: parent.id,
    syntheticStageOwner: owner,
  }))
  graphOf(execution).insert(owner === 'STAGE_BEFORE' ? 'before' : 'after', parent, stages)
  return stages
}

export function createTasks(stageType: string, steps: readonly Step[]): Task[] {
  return steps.map((step, index) => ({
    id: String(index + 1),
    name: step.name,
    implementingClass: `${stageType}.${step.name}`,
    status: 'NOT_STARTED',
    stageStart: index === 0,
    stageEnd: index === steps.length - 1,
    loopStart: false,
    loopEnd: false,
    taskExceptionDetails: {},
    engine: {},
  }))
}
