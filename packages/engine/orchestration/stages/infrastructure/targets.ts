import { fieldOf, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import type { ClusterTarget } from '@fairlead/ports/infrastructure.ts'
import { StageError } from '../../machine/failure.ts'
import { isTopLevel, type Stage } from '../../model.ts'
import { inheritedContext, type NewStage, type StageType, type TaskContext, type TaskResult } from '../stage-type.ts'
import { placesOf, requirePlaces } from './cloud-context.ts'
import { requireClusterPlace } from './server-groups.ts'

/** How often a lookup is repeated, a second apart. */
const lookups = 15

export const determineTargetStage: StageType = {
  type: 'determineTargetServerGroup',
  steps: [{ name: 'determineTargetServerGroup', execute: determineTargets, readsOnly: true, pollMs: 1000, timeoutMs: 60_000 }],
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
      const target = textOf(stage.context['target'])
      const lookup: NewStage[] =
        target === undefined
          ? []
          : [{ type: 'determineTargetServerGroup', name: 'Determine target server group', context: inherited }]
      const parts = placesOf(stage.context).map((region) => ({
        type,
        name: `${stage.name} in ${region}`,
        context: { ...inherited, region, regions: [region] },
        ...(lookup.length > 0 && { requires: [0] }),
      }))
      return [...lookup, ...parts]
    },
  }
}

async function determineTargets(context: TaskContext): Promise<TaskResult> {
  const { stage } = context
  const target = textOf(stage.context['target'])
  if (target === undefined) throw new StageError(['The stage names no target: set "target", such as current_asg_dynamic.'])
  const place = requireClusterPlace(stage.context, context)
  const references: JsonObject[] = []
  for (const region of requirePlaces(stage.context)) {
    const found = await context.infrastructure.target({ ...place, region, target })
    if (found === undefined) return absent(context, { ...place, region, target })
    references.push({ region, serverGroupName: found.name, asgName: found.name, cloudProvider: place.provider, asg: found.all })
  }
  // The whole answers would be kept with the execution for each of the lookups.
  const shown = references.map(({ asg, ...reference }) => ({ ...reference, capacity: fieldOf(asg, 'capacity') }))
  return { status: 'SUCCEEDED', context: { targetReferences: shown }, outputs: { targetReferences: shown } }
}

function absent({ stage }: TaskContext, { account, region, cluster, target }: ClusterTarget): TaskResult {
  const count = Number(stage.context['target.lookups'] ?? 0) + 1
  if (count >= lookups) {
    throw new StageError([`There is no server group for "${target}" of the cluster ${cluster} in ${account}/${region}.`])
  }
  return { status: 'RUNNING', context: { 'target.lookups': count } }
}
