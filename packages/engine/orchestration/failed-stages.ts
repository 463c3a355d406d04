/**
 * Failed leaves of an execution and of the child pipelines that it ran.
 *
 * @see docs/contracts/orchestration.md#failed-stages
 */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { errorTexts } from './machine/failure.ts'
import { graphOf } from './machine/graph.ts'
import { type Execution, isStartedBy, isTopLevel, type Stage, type StagePlace } from './model.ts'
import { typeNameOf } from './stages/stage-type.ts'

interface FailedLeavesOptions {
  /** Prefix of links into the UI. */
  deckOrigin: string
  limit: number
  find: (id: string) => Execution | undefined
}

interface Visit {
  execution: Execution
  parent?: Execution
  /** Where the UI shows each stage. */
  places: ReadonlyMap<Stage, number>
}

function visitOf(execution: Execution, parent?: Execution): Visit {
  const places = new Map(execution.stages.filter(isTopLevel).map((stage, index) => [stage, index]))
  return { execution, parent, places }
}

/** Breadth-first; members without a value are written as null. */
export function failedLeaves(root: Execution, options: FailedLeavesOptions): JsonObject[] {
  const found: JsonObject[] = []
  const seen = new Set<string>([root.id])
  const open = [visitOf(root)]
  for (let visit = open.shift(); visit !== undefined; visit = open.shift()) {
    for (const stage of visit.execution.stages) {
      if (!hasFailed(stage) || graphOf(visit.execution).childrenOf(stage).some(hasFailed)) continue
      const child = childOf({ execution: visit.execution, stage }, options)
      if (child !== undefined && !seen.has(child.id) && child.stages.some(hasFailed)) {
        seen.add(child.id)
        open.push(visitOf(child, visit.execution))
      } else found.push(leaf(visit, stage, child, options))
      if (found.length >= options.limit) return found
    }
  }
  return found
}

function hasFailed({ status }: Stage): boolean {
  return ['TERMINAL', 'STOPPED', 'FAILED_CONTINUE'].includes(status)
}

function childOf(place: StagePlace, options: FailedLeavesOptions): Execution | undefined {
  const { executionId } = place.stage.context
  const child =
    typeNameOf(place.stage) === 'pipeline' && typeof executionId === 'string'
      ? options.find(executionId)
      : undefined
  return child !== undefined && isStartedBy(child, place) ? child : undefined
}

function leaf(
  { execution, parent, places }: Visit,
  stage: Stage,
  child: Execution | undefined,
  options: FailedLeavesOptions,
): JsonObject {
  return {
    ...named('parentPipeline', parent, options),
    pipelineExecutionId: execution.id,
    pipelineExecutionName: execution.name ?? null,
    pipelineApplication: execution.application,
    pipelineExecutionUrl: `${linkTo(execution, options.deckOrigin)}?stage=${places.get(stage) ?? 0}&step=0&details=${stage.type}Config`,
    stageId: stage.id,
    stageName: stage.name,
    stageType: stage.type,
    stageStatus: stage.status,
    stageException:
      errorTexts(stage.context['exception'])[0] ?? 'No exception message was recorded.',
    ...named('childPipeline', child, options),
  }
}

function named(
  prefix: string,
  execution: Execution | undefined,
  options: FailedLeavesOptions,
): JsonObject {
  return {
    [`${prefix}ExecutionId`]: execution?.id ?? null,
    [`${prefix}ExecutionName`]: execution?.name ?? null,
    [`${prefix}Application`]: execution?.application ?? null,
    [`${prefix}Url`]: execution === undefined ? null : linkTo(execution, options.deckOrigin),
  }
}

function linkTo(execution: Execution, origin: string): string {
  return `${origin}/#/applications/${execution.application}/executions/details/${execution.id}`
}
