/** scaleManifest and resizeServerGroup. */
import { fieldAt, type JsonObject, numberOf } from '../../../../../json/values.ts'
import type { OperationType } from '../../../operation-type.ts'
import { fieldManager } from '../manifests/annotations.ts'
import type { KubernetesParts } from '../parts.ts'
import { type ChangedName, defineManifestOperation, type ManifestRun } from './parts.ts'
import { isPassingOrConflict, retrying } from './retry.ts'
import { requireChangeable } from './rights.ts'
import { aboutObject, describeTargetProblems, namedManifest, namedServerGroup } from './targets.ts'

export function scaleManifest(parts: KubernetesParts): OperationType {
  return scaling(parts, {
    field: 'manifestName',
    target: namedManifest,
    replicas: ({ replicas }) => replicas,
  })
}

export function resizeServerGroup(parts: KubernetesParts): OperationType {
  return scaling(parts, {
    field: 'serverGroupName',
    target: namedServerGroup,
    replicas: (description) => fieldAt(description, 'capacity', 'desired'),
  })
}

interface Scaling {
  readonly field: string
  readonly target: (description: JsonObject) => ChangedName
  readonly replicas: (description: JsonObject) => unknown
}

function scaling(parts: KubernetesParts, { field, target, replicas }: Scaling): OperationType {
  return defineManifestOperation(parts, {
    check: (description, account) => {
      const count = countOf(replicas(description))
      return [
        ...describeTargetProblems(account, { field, ...target(description) }),
        count === undefined && 'replicas: it must be a whole number that is not negative (replicas.empty).',
      ]
    },
    changes: (description) => [target(description)],
    run: (running) => scale(running, target(running.description), countOf(replicas(running.description)) ?? 0),
  })
}

function countOf(value: unknown): number | undefined {
  const count = numberOf(value)
  return count !== undefined && Number.isInteger(count) && count >= 0 ? count : undefined
}

const scalable = ['deployment', 'replicaSet', 'statefulSet']

async function scale(running: ManifestRun, changed: ChangedName, replicas: number): Promise<void> {
  const { account, run } = running
  const { place, subject } = await requireChangeable(running, changed, { kinds: scalable, operation: 'scale' })
  run.note(`Scaling ${subject} to ${replicas} …`)
  await aboutObject(subject, () =>
    retrying(
      running,
      () => account.api.patch(place, { spec: { replicas } }, { type: 'merge', subresource: 'scale', fieldManager }),
      isPassingOrConflict,
    ),
  )
  const scaled = await account.api.get(place)
  if (scaled !== undefined) account.lists.observe(scaled)
}
