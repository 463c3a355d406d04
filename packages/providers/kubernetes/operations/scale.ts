/** scaleManifest and resizeServerGroup. */

import { type Reader, shape } from '@fairlead/base/json/shape.ts'
import { numberOf, textsOf } from '@fairlead/base/json/values.ts'
import { parseFullName } from '../kinds.ts'
import type { KubeObject } from '../objects.ts'
import { deleteAll } from './delete.ts'
import {
  type ChangedName,
  defineManifestOperation,
  type KubernetesOperation,
  type ManifestRun,
} from './parts.ts'
import { requireChangeable } from './rights.ts'
import {
  describeNamespaceProblem,
  describeTargetProblems,
  findKind,
  findManifestByName,
  manifestFields,
  patchTarget,
  serverGroupFields,
} from './targets.ts'

const toNamed = shape(serverGroupFields)

export const destroyServerGroup = defineManifestOperation({
  reads: toNamed,
  check: (named, account) => describeTargetProblems(account, named, 'serverGroupName'),
  changes: (named) => [named],
  run: async (running, named) =>
    deleteAll(running, await findManifestByName(running, named), { propagation: 'Background' }),
})

/** What controls a pod creates another one. */
export const terminateInstances = defineManifestOperation({
  reads: shape({ namespace: serverGroupFields.namespace, ids: [toBareNames, 'instanceIds'] }),
  check: ({ namespace, ids }, account) => [
    ids.length === 0 && 'instanceIds: name at least one (instanceIds.empty).',
    namespace === '' && 'region: the namespace of the pods is missing (region.empty).',
    describeNamespaceProblem(account, namespace),
  ],
  changes: ({ namespace, ids }) => ids.map((id) => ({ namespace, name: `pod ${id}` })),
  run: terminate,
})

/** The names within full names; ids and bare names stay as they are. */
function toBareNames(ids: unknown): string[] {
  return textsOf(ids).map((id) => parseFullName(id)?.name ?? id)
}

async function terminate(
  running: ManifestRun,
  { namespace, ids: named }: { readonly namespace: string; readonly ids: readonly string[] },
): Promise<void> {
  const { account } = running
  const { kind, resource } = await findKind(running, { kind: 'pod', group: undefined })
  const ids = new Set(named)
  const isNamed = ({ metadata }: KubeObject) =>
    ids.has(metadata.uid ?? '') || ids.has(metadata.name)
  const pods = (await account.api.list(resource, { namespace })).filter(isNamed)
  const found = pods.map((live) => {
    const { name } = live.metadata
    return { name: `pod ${name}`, kind, place: { resource, namespace, name }, live }
  })
  await deleteAll(running, found, { propagation: 'Background' })
}

export const scaleManifest = scaling(
  'manifestName',
  shape({ ...manifestFields, replicas: countOf }),
)
const toResize = shape({ ...serverGroupFields, capacity: shape({ desired: countOf }) })
export const resizeServerGroup = scaling('serverGroupName', (description) => {
  const { capacity, ...named } = toResize(description)
  return { ...named, replicas: capacity.desired }
})

function scaling(
  field: string,
  reads: Reader<ChangedName & { readonly replicas: number | undefined }>,
): KubernetesOperation {
  return defineManifestOperation({
    reads,
    check: (description, account) => [
      ...describeTargetProblems(account, description, field),
      description.replicas === undefined &&
        'replicas: it must be a whole number that is not negative (replicas.empty).',
    ],
    changes: (description) => [description],
    async run(running, { replicas = 0, ...named }) {
      const { account, run } = running
      const kinds = ['deployment', 'replicaSet', 'statefulSet']
      const target = await requireChangeable(running, named, { kinds, operation: 'scale' })
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
