/** Labels of pods, which services select them by: on templates, and on pods that run. */
import { isApiError } from '../api/api-error.ts'
import { withField } from '../manifests/edit.ts'
import { matchLabelsOf } from '../manifests/selectors.ts'
import { podLabelsPath } from '../manifests/traffic.ts'
import { toWorkload } from '../objects/workload.ts'
import { isOwnedBy, type KubeObject, type Labels } from '../objects.ts'
import type { ManifestRun } from './parts.ts'
import { type LiveTarget, patchTarget } from './targets.ts'

/** Pods that are created while labels change may have the old ones. */
const podRounds = 3

export interface WantedLabels {
  readonly labels: Labels
  readonly isEnabled: boolean
}

/** Adds labels to the template of a workload and to the pods of a replica set, or takes them off. */
export async function setPodLabels(
  running: ManifestRun,
  target: LiveTarget,
  wanted: WantedLabels,
): Promise<void> {
  await label(running, target, wanted, target.kind.name === 'pod')
  if (target.kind.name === 'replicaSet') await labelPods(running, target, wanted)
}

/** Labels of the pods that the workload creates. */
export function podLabelsOf(workload: unknown): Labels {
  return toWorkload(workload).spec.template.metadata.labels
}

type Labelled = Omit<LiveTarget, 'kind'>

async function label(
  running: ManifestRun,
  labelled: Labelled,
  wanted: WantedLabels,
  isPod: boolean,
): Promise<void> {
  const { labels, isEnabled } = wanted
  if (hasLabels(labelled.live, isPod, wanted)) return
  const values = Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [key, isEnabled ? value : null]),
  )
  running.account.lists.observe(
    await patchTarget(running, labelled, { body: withField({}, podLabelsPath(isPod), values) }),
  )
}

function hasLabels(live: KubeObject, isPod: boolean, { labels, isEnabled }: WantedLabels): boolean {
  const present = isPod ? (live.metadata.labels ?? {}) : podLabelsOf(live)
  return Object.entries(labels).every(([key, value]) =>
    isEnabled ? present[key] === value : !Object.hasOwn(present, key),
  )
}

async function labelPods(
  running: ManifestRun,
  owner: LiveTarget,
  wanted: WantedLabels,
): Promise<void> {
  for (let round = 0; round < podRounds; round++) {
    const pods = await ownedPods(running, owner)
    const wrong = pods.filter(({ live }) => !hasLabels(live, true, wanted))
    if (wrong.length === 0) return
    await Promise.all(
      wrong.map((pod) =>
        label(running, pod, wanted, true).catch((error: unknown) => {
          // A pod may end at any time.
          if (!isApiError((error as Error).cause, 404)) throw error
        }),
      ),
    )
  }
}

export async function ownedPods(
  { account }: ManifestRun,
  { place, live: owner }: LiveTarget,
): Promise<Labelled[]> {
  const resource = await account.api.find({ kind: 'pod', group: '' })
  if (resource === undefined) return []
  const { namespace } = place
  const pods = await account.api.list(resource, {
    namespace,
    labelSelector: matchLabelsOf(owner['spec']),
  })
  const owned = pods.filter((pod) => isOwnedBy(pod, owner))
  return owned.map((live) => ({
    name: `pod ${live.metadata.name}`,
    place: { resource, namespace, name: live.metadata.name },
    live,
  }))
}
