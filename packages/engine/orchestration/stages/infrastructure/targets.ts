import { StageError } from '../../machine/failure.ts'
import { isTopLevel, type Stage } from '../../model.ts'
import {
  inheritedContext,
  type NewStage,
  type StageType,
  type TaskContext,
  type TaskResult,
} from '../stage-type.ts'
import { placesOf, requirePlaces, targetWordOf } from './cloud-context.ts'
import { attempt, isAbsence } from './cloud-task.ts'
import { requireClusterPlace } from './server-groups.ts'

const lookups = { key: 'target.lookups', tries: 15, pauseMs: 1000, mayPass: isAbsence }

export const determineTargetStage: StageType = {
  type: 'determineTargetServerGroup',
  steps: [
    {
      name: 'determineTargetServerGroup',
      execute: determineTargets,
      readsOnly: true,
      timeoutMs: 60_000,
    },
  ],
}

/**
 * A stage at the top level only injects one of the same type per region, after the one that looks up a dynamic target; those have the
 * steps.
 *
 * @param ahead Stages ahead of the steps of one region
 */
export function splitByRegion(
  type: string,
  ahead: (stage: Stage) => NewStage[] = () => [],
): Required<Pick<StageType, 'beforeStages'>> & { isSplit: (stage: Stage) => boolean } {
  const isSplit = (stage: Stage) => isTopLevel(stage) && placesOf(stage.context).length > 0
  return {
    isSplit,
    beforeStages: (stage) => {
      if (!isSplit(stage)) return ahead(stage)
      const inherited = inheritedContext(stage)
      const isDynamic = targetWordOf(stage.context) !== undefined
      const parts = placesOf(stage.context).map((region) => ({
        type,
        name: `${stage.name} in ${region}`,
        context: { ...inherited, region, regions: [region] },
        ...(isDynamic && { requires: [0] }),
      }))
      if (!isDynamic) return parts
      return [
        {
          type: determineTargetStage.type,
          name: 'Determine target server group',
          context: inherited,
        },
        ...parts,
      ]
    },
  }
}

async function determineTargets(context: TaskContext): Promise<TaskResult> {
  const { context: settings } = context.stage
  const target = targetWordOf(settings)
  if (target === undefined)
    throw new StageError(['The stage names no target: set "target", such as current_asg_dynamic.'])
  const place = requireClusterPlace(settings, context)
  const { provider: cloudProvider, account, cluster } = place
  const regions = requirePlaces(settings)
  return attempt(context, lookups, async () => {
    const targetReferences = []
    for (const region of regions) {
      const found = await context.infrastructure.target({ ...place, region, target })
      if (found === undefined)
        throw new StageError([
          `There is no server group for "${target}" of the cluster ${cluster} in ${account}/${region}.`,
        ])
      const { name, capacity } = found
      targetReferences.push({
        region,
        serverGroupName: name,
        asgName: name,
        cloudProvider,
        capacity,
      })
    }
    return { status: 'SUCCEEDED', context: { targetReferences }, outputs: { targetReferences } }
  })
}
