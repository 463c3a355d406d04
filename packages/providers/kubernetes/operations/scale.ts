/** scaleManifest and resizeServerGroup. */

import { fieldAt, type JsonObject, numberOf, textsOf } from '@fairlead/base/json/values.ts'
import { parseFullName } from '../kinds.ts'
import type { KubeObject } from '../objects.ts'
import { deleteAll } from './delete.ts'
import { defineManifestOperation, type KubernetesOperation, type ManifestRun } from './parts.ts'
import { requireChangeable } from './rights.ts'
import {
  byManifest,
  byServerGroup,
  describeNamespaceProblem,
  describeTargetProblems,
  findKind,
  findManifestByName,
  namedServerGroup,
  patchTarget,
  type TargetName,
} from './targets.ts'

export const destroyServerGroup = defineManifestOperation({
  check: (description, account) =>
    describeTargetProblems(account, { field: 'serverGroupName', ...namedServerGroup(description) }),
  changes: (description) => [namedServerGroup(description)],
  run: async (running) => {
    const found = await findManifestByName(running, namedServerGroup(running.description))
    await deleteAll(running, found, { propagation: 'Background' })
  },
})

/** What controls a pod creates another one. */
export const terminateInstances = defineManifestOperation({
  check: (description, account) => {
    const namespace = namedServerGroup(description).namespace ?? ''
    return [
      textsOf(description['instanceIds']).length === 0 &&
        'instanceIds: name at least one (instanceIds.empty).',
      namespace === '' && 'region: the namespace of the pods is missing (region.empty).',
      describeNamespaceProblem(account, namespace),
    ]
  },
  changes: (description) =>
    namesOf(description).map((name) => ({
      namespace: namedServerGroup(description).namespace,
      name,
    })),
  run: terminate,
})

function namesOf({ instanceIds }: JsonObject): string[] {
  return textsOf(instanceIds).map((id) => `pod ${bareName(id)}`)
}

/** The name within a full name; an id or a bare name stays as it is. */
function bareName(id: string): string {
  return parseFullName(id)?.name ?? id
}

async function terminate(running: ManifestRun): Promise<void> {
  const { account, description } = running
  const { namespace = '' } = namedServerGroup(description)
  const { kind, resource } = await findKind(running, { kind: 'pod', group: undefined })
  const ids = new Set(textsOf(description['instanceIds']).map(bareName))
  const isNamed = ({ metadata }: KubeObject) =>
    ids.has(metadata.uid ?? '') || ids.has(metadata.name)
  const pods = (await account.api.list(resource, { namespace })).filter(isNamed)
  const found = pods.map((live) => {
    const { name } = live.metadata
    return { name: `pod ${name}`, kind, place: { resource, namespace, name }, live }
  })
  await deleteAll(running, found, { propagation: 'Background' })
}

export const scaleManifest = scaling(byManifest, ({ replicas }) => replicas)
export const resizeServerGroup = scaling(byServerGroup, (description) =>
  fieldAt(description, 'capacity', 'desired'),
)

function scaling(
  { field, of }: TargetName,
  replicasIn: (description: JsonObject) => unknown,
): KubernetesOperation {
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
      const target = await requireChangeable(running, of(description), {
        kinds,
        operation: 'scale',
      })
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
