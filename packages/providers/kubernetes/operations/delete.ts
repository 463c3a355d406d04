/** deleteManifest, by name and by labels. */

import { asGiven, shape } from '@fairlead/base/json/shape.ts'
import { numberOf, textsOf } from '@fairlead/base/json/values.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import type { DeleteOptions } from '../api/cluster-api.ts'
import { formatFullName, parseFullName, parseKind, removalStage } from '../kinds.ts'
import { parseSelectors } from '../manifests/selectors.ts'
import { defineManifestOperation, type ManifestRun, namesByNamespace } from './parts.ts'
import { type RemovalOptions, startRemoval } from './remove.ts'
import { checkChanges, checkForgotten, toChange } from './rights.ts'
import { endShare } from './share-traffic.ts'
import {
  aboutObject,
  checkNamespace,
  describeNamespaceProblem,
  describeObjectPlace,
  describeTarget,
  describeTargetProblems,
  findKind,
  findManifestByName,
  type LiveTarget,
  manifestFields,
  NoKindError,
} from './targets.ts'

/** Finalizers may take long. */
const deletionMs = 3_600_000

const toDeletion = shape({
  ...manifestFields,
  kinds: textsOf,
  labelSelectors: asGiven,
  options: shape({
    gracePeriodSeconds: numberOf,
    orphans: [wordOf, 'orphanDependents', 'orphanDependants'],
    cascading: wordOf,
  }),
})
type Deletion = ReturnType<typeof toDeletion>

export const deleteManifest = defineManifestOperation({
  reads: toDeletion,
  check: (deletion, account) => {
    deleteOptionsOf(deletion)
    if (!isByLabel(deletion)) return describeTargetProblems(account, deletion)
    checkLabelQuery(deletion)
    return [describeNamespaceProblem(account, deletion.namespace)]
  },
  changes: (deletion) =>
    isByLabel(deletion)
      ? deletion.kinds.map((kind) => ({ ...deletion, name: `${kind} by labels` }))
      : [deletion],
  run: async (running, deletion) => {
    const found = isByLabel(deletion)
      ? await findByLabels(running, deletion)
      : await findOrForget(running, deletion)
    await deleteAll(running, found, deleteOptionsOf(deletion))
    const names = found.map(({ name, place }) => ({ name, namespace: place.namespace }))
    running.run.report({ manifestNamesByNamespace: namesByNamespace(names) })
  },
})

/** What is gone is forgotten, so that its absence is no drift any longer. */
async function findOrForget(running: ManifestRun, deletion: Deletion): Promise<LiveTarget[]> {
  const { deployed } = running.account
  const { kind = '', name = '', group } = parseFullName(deletion.name) ?? {}
  const { name: printed, isNamespaced } = running.account.kinds.kindOf({ kind, group })
  const named = { namespace: isNamespaced ? deletion.namespace : '', kind: printed, name }
  const owners = deployed.ownersOf(named)
  const found = await findManifestByName(running, deletion).catch((error: unknown) => {
    // Its kind may be gone, too.
    if (owners.length === 0 || !(error instanceof NoKindError)) throw error
    return []
  })
  if (found.length > 0 || owners.length === 0) return found
  await checkForgotten(running, deletion.name, owners)
  deployed.forgetGone(named)
  running.run.note(`${deletion.name} is gone already and is forgotten.`)
  return found
}

function isByLabel({ name, kinds }: Deletion): boolean {
  return name === '' && kinds.length > 0
}

/** @throws {Error} where it would select everything */
function checkLabelQuery({ labelSelectors }: Deletion): string {
  const { text } = parseSelectors(labelSelectors)
  if (text === '') {
    throw new Error(
      'labelSelectors: at least one selector other than ANY is needed; otherwise everything would be deleted.',
    )
  }
  return text
}

type DeletePolicy = Pick<DeleteOptions, 'propagation' | 'gracePeriodSeconds'>

/** @throws {Error} for a text that is no way to delete */
function deleteOptionsOf({ options }: Deletion): DeletePolicy {
  const { gracePeriodSeconds: grace = -1 } = options
  const isWhole = Number.isInteger(grace) && grace >= 0
  return { propagation: propagationOf(options), ...(isWhole && { gracePeriodSeconds: grace }) }
}

const propagations: Readonly<Record<string, DeleteOptions['propagation']>> = {
  true: 'Background',
  false: 'Orphan',
  background: 'Background',
  foreground: 'Foreground',
  orphan: 'Orphan',
}

function propagationOf({ orphans, cascading }: Deletion['options']): DeleteOptions['propagation'] {
  if (orphans !== undefined) return orphans === 'true' ? 'Orphan' : 'Background'
  if (cascading === undefined) return 'Background'
  const propagation = Object.hasOwn(propagations, cascading) ? propagations[cascading] : undefined
  if (propagation !== undefined) return propagation
  throw new Error(
    `options.cascading: "${cascading}" is none of true, false, foreground, background, orphan.`,
  )
}

function wordOf(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'boolean') return undefined
  return String(value).trim().toLowerCase() || undefined
}

async function findByLabels(running: ManifestRun, deletion: Deletion): Promise<LiveTarget[]> {
  const { account } = running
  const labelSelector = checkLabelQuery(deletion)
  const location = deletion.namespace
  const found: LiveTarget[] = []
  for (const text of deletion.kinds) {
    const { kind, resource } = await findKind(running, parseKind(text))
    const namespace = resource.isNamespaced ? location : ''
    if (resource.isNamespaced && namespace === '')
      throw new Error(`location: the namespace of objects of kind ${text} is missing.`)
    const listed = await aboutObject(
      describeObjectPlace(account, `objects of kind ${text}`, namespace),
      () => account.api.list(resource, { namespace, labelSelector }),
    )
    found.push(
      ...listed.map((live) => {
        const place = { resource, namespace, name: live.metadata.name }
        return { name: formatFullName(kind, live.metadata.name), kind, place, live }
      }),
    )
  }
  for (const { kind, place } of found) checkNamespace(account, kind, place)
  return found
}

/** Rights on all of them are checked first, and shares of the traffic end; what others need goes after them. The task ends when all are gone. */
export async function deleteAll(
  running: ManifestRun,
  found: readonly LiveTarget[],
  options: DeletePolicy,
): Promise<void> {
  await checkChanges(running, found.map(toChange))
  for (const target of found) await endShare(running, target, 'goes')
  const removal = { ...options, limitMs: deletionMs, awaitsOwned: true }
  const stages = Map.groupBy(found, ({ kind }) => removalStage(kind))
  for (const stage of [...stages.keys()].sort((one, other) => one - other))
    await deleteStage(running, stages.get(stage) ?? [], removal)
}

async function deleteStage(
  running: ManifestRun,
  found: readonly LiveTarget[],
  removal: RemovalOptions,
): Promise<void> {
  const waits = await callInTurns(found, async (each) => {
    const wait = await aboutObject(describeTarget(running.account, each), () =>
      startRemoval(running, each, removal),
    )
    return () => aboutObject(describeTarget(running.account, each), wait)
  })
  const failed = (await Promise.allSettled(waits.map((wait) => wait()))).find(
    ({ status }) => status === 'rejected',
  )
  running.run.signal.throwIfAborted()
  if (failed?.status === 'rejected') throw failed.reason
}
