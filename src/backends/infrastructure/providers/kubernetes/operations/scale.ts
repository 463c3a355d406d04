/** scaleManifest and resizeServerGroup. */
import { fieldAt, type JsonObject, numberOf, textOf } from '../../../../../json/values.ts'
import type { OperationType } from '../../../operation-type.ts'
import { fieldManager } from '../manifests/annotations.ts'
import type { KubernetesParts } from '../parts.ts'
import { checkChanges, toChange } from './owners.ts'
import { type ChangedName, defineOperation, type Running } from './parts.ts'
import { isPassingOrConflict, retrying } from './retry.ts'
import {
  aboutObject,
  describeTarget,
  describeTargetProblems,
  findTarget,
  requireCapability,
  requireLive,
  toNamespace,
} from './targets.ts'

export function scaleManifest(parts: KubernetesParts): OperationType {
  return scaling(parts, {
    field: 'manifestName',
    target: ({ manifestName, location }) => ({ name: textOf(manifestName) ?? '', namespace: toNamespace(location) }),
    replicas: ({ replicas }) => replicas,
  })
}

export function resizeServerGroup(parts: KubernetesParts): OperationType {
  return scaling(parts, {
    field: 'serverGroupName',
    target: serverGroupOf,
    replicas: (description) => fieldAt(description, 'capacity', 'desired'),
  })
}

/** The server group of a neutral operation. */
export function serverGroupOf({ serverGroupName, asgName, region, location, namespace }: JsonObject): ChangedName {
  return { name: textOf(serverGroupName) ?? textOf(asgName) ?? '', namespace: toNamespace(region ?? location ?? namespace) }
}

interface Scaling {
  readonly field: string
  readonly target: (description: JsonObject) => ChangedName
  readonly replicas: (description: JsonObject) => unknown
}

function scaling(parts: KubernetesParts, { field, target, replicas }: Scaling): OperationType {
  return defineOperation(parts, {
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

async function scale(running: Running, changed: ChangedName, replicas: number): Promise<void> {
  const { account, run } = running
  const target = await findTarget(running, { name: changed.name, namespace: changed.namespace ?? '' })
  const subject = describeTarget(account, target)
  requireCapability(account, target, { kinds: scalable, operation: 'scale' })
  const live = await requireLive(account, target)
  await checkChanges(running, [toChange(target, live)])
  run.note(`Scaling ${subject} to ${replicas} …`)
  await aboutObject(subject, () =>
    retrying(
      running,
      () => account.api.patch(target.place, { spec: { replicas } }, { type: 'merge', subresource: 'scale', fieldManager }),
      isPassingOrConflict,
    ),
  )
  const scaled = await account.api.get(target.place)
  if (scaled !== undefined) account.lists.observe(scaled)
}
