/** The precondition `clusterSize`: how many server groups a cluster has in each region (docs/contracts/infrastructure.md#deployment-stages). */
import { shape } from '@fairlead/base/json/shape.ts'
import { isTrue, objectOf } from '@fairlead/base/json/values.ts'
import { StageError } from '../../machine/failure.ts'
import type { TaskContext, TaskResult } from '../stage-type.ts'
import { requirePlaces } from './cloud-context.ts'
import { comparisonOf } from './comparison.ts'
import { inPlace, requireClusterPlace } from './server-groups.ts'

const toInner = shape({ context: objectOf, onlyEnabledServerGroups: isTrue })

export async function checkClusterSize(context: TaskContext): Promise<TaskResult> {
  const settings = { ...context.stage.context, ...toInner(context.stage.context).context }
  const place = requireClusterPlace(settings, context)
  const {
    bound: expected,
    comparison,
    holds,
  } = comparisonOf(settings, { bound: 'expected', byDefault: '==' })
  const { onlyEnabledServerGroups: onlyEnabled } = toInner(settings)
  const groups = (await context.infrastructure.cluster(place)) ?? []
  for (const region of requirePlaces(settings)) {
    const found = inPlace(groups, region).filter(({ isDisabled }) => !(onlyEnabled && isDisabled))
    if (holds(found.length, expected)) continue
    const names = found.map(({ name }) => name).join(', ') || 'none'
    throw new StageError([
      `The cluster ${place.cluster} in ${place.account}/${region} has ${found.length} server groups, expected ${comparison} ${expected}: ${names}.`,
    ])
  }
  return { status: 'SUCCEEDED' }
}
