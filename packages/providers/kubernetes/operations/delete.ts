/** deleteManifest, by name and by labels. */

import { fieldOf, type JsonObject, numberOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import type { DeleteOptions } from '../api/cluster-api.ts'
import { formatFullName, parseKind } from '../kinds.ts'
import { hasSelectors, parseSelectors } from '../manifests/selectors.ts'
import {
  type ChangedName,
  defineManifestOperation,
  type ManifestRun,
  namesByNamespace,
} from './parts.ts'
import { startRemoval } from './remove.ts'
import { checkChanges, toChange } from './rights.ts'
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
  namedManifest,
  toNamespace,
} from './targets.ts'

/** Finalizers may take long. */
const deletionMs = 3_600_000

export const deleteManifest = defineManifestOperation({
  check: (description, account) => {
    deleteOptionsOf(description['options'])
    if (!isByLabel(description)) return describeTargetProblems(account, namedManifest(description))
    checkLabelQuery(description)
    return [describeNamespaceProblem(account, toNamespace(description['location']))]
  },
  changes: (description) =>
    isByLabel(description) ? labelNames(description) : [namedManifest(description)],
  run: async (running) => {
    const { description } = running
    const found = isByLabel(description)
      ? await findByLabels(running)
      : await findManifestByName(running, namedManifest(description))
    await deleteAll(running, found, deleteOptionsOf(description['options']))
    const names = found.map(({ name, place }) => ({ name, namespace: place.namespace }))
    running.run.report({ manifestNamesByNamespace: namesByNamespace(names) })
  },
})

function isByLabel({ manifestName, kinds }: JsonObject): boolean {
  return textOf(manifestName) === undefined && textsOf(kinds).length > 0
}

function labelNames({ kinds, location }: JsonObject): ChangedName[] {
  return textsOf(kinds).map((kind) => ({
    namespace: toNamespace(location),
    name: `${kind} by labels`,
  }))
}

/** @throws {Error} where it would select everything */
function checkLabelQuery({ labelSelectors }: JsonObject): string {
  const { text } = parseSelectors(labelSelectors)
  if (!hasSelectors(labelSelectors) || text === '') {
    throw new Error(
      'labelSelectors: at least one selector other than ANY is needed; otherwise everything would be deleted.',
    )
  }
  return text
}

/** @throws {Error} for a text that is no way to delete */
function deleteOptionsOf(
  options: unknown,
): Pick<DeleteOptions, 'propagation' | 'gracePeriodSeconds'> {
  const grace = numberOf(fieldOf(options, 'gracePeriodSeconds'))
  const isWhole = grace !== undefined && Number.isInteger(grace) && grace >= 0
  return { propagation: propagationOf(options), ...(isWhole && { gracePeriodSeconds: grace }) }
}

const propagations: Readonly<Record<string, DeleteOptions['propagation']>> = {
  true: 'Background',
  false: 'Orphan',
  background: 'Background',
  foreground: 'Foreground',
  orphan: 'Orphan',
}

function propagationOf(options: unknown): DeleteOptions['propagation'] {
  const words = ['orphanDependents', 'orphanDependants', 'cascading'].map((name) =>
    wordOf(fieldOf(options, name)),
  )
  const orphans = words[0] ?? words[1]
  if (orphans !== undefined) return orphans === 'true' ? 'Orphan' : 'Background'
  const cascading = words[2]
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

async function findByLabels(running: ManifestRun): Promise<LiveTarget[]> {
  const { account, description } = running
  const labelSelector = checkLabelQuery(description)
  const location = toNamespace(description['location'])
  const found: LiveTarget[] = []
  for (const text of textsOf(description['kinds'])) {
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

/** Rights on all of them are checked first, and shares of the traffic end; the task ends when all are gone. */
export async function deleteAll(
  running: ManifestRun,
  found: readonly LiveTarget[],
  options: Pick<DeleteOptions, 'propagation' | 'gracePeriodSeconds'>,
): Promise<void> {
  await checkChanges(running, found.map(toChange))
  for (const target of found) await endShare(running, target, 'goes')
  const removal = { ...options, limitMs: deletionMs, awaitsOwned: true }
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
