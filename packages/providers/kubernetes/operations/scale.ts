/** scaleManifest and resizeServerGroup. */
import { fieldAt, type JsonObject, numberOf } from '@fairlead/base/json/values.ts'
import { defineManifestOperation, type KubernetesOperation } from './parts.ts'
import { requireChangeable } from './rights.ts'
import { byManifest, byServerGroup, describeTargetProblems, patchTarget, type TargetName } from './targets.ts'

export const scaleManifest = scaling(byManifest, ({ replicas }) => replicas)
export const resizeServerGroup = scaling(byServerGroup, (description) => fieldAt(description, 'capacity', 'desired'))

function scaling({ field, of }: TargetName, replicasIn: (description: JsonObject) => unknown): KubernetesOperation {
  return defineManifestOperation({
    check: (description, account) => [
      ...describeTargetProblems(account, { field, ...of(description) }),
      countOf(replicasIn(description)) === undefined &&
        'replicas: it must be a whole number that is not negative (replicas.empty).',
    ],
    changes: (description) => [of(description)],
    async run(running) {
      const { account, run, description } = running
      const replicas = countOf(replicasIn(description)) ?? 0
      const kinds = ['deployment', 'replicaSet', 'statefulSet']
      const target = await requireChangeable(running, of(description), { kinds, operation: 'scale' })
      run.note(`Scaling ${target.subject} to ${replicas} …`)
      await patchTarget(running, target, { body: { spec: { replicas } }, subresource: 'scale' })
      const scaled = await account.api.get(target.place)
      if (scaled !== undefined) account.lists.observe(scaled)
    },
  })
}

function countOf(value: unknown): number | undefined {
  const count = numberOf(value)
  return count !== undefined && Number.isInteger(count) && count >= 0 ? count : undefined
}
