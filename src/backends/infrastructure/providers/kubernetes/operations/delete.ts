/** deleteManifest, by name and by labels. */
import { fieldOf, type JsonObject, numberOf, textOf, textsOf } from '../../../../../json/values.ts'
import { callInTurns } from '../../../../stores/in-turns.ts'
import type { OperationType } from '../../../operation-type.ts'
import type { DeleteOptions } from '../api/cluster-api.ts'
import { formatFullName } from '../full-name.ts'
import { builtInKind, parseKind } from '../kinds.ts'
import { hasSelectors, parseSelectors } from '../manifests/selectors.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount, KubernetesParts } from '../parts.ts'
import { checkChanges, toChange } from './owners.ts'
import { type ChangedName, defineOperation, type Running } from './parts.ts'
import { startRemoval } from './remove.ts'
import { namesByNamespace } from './results.ts'
import {
  aboutObject,
  describeNamespaceProblem,
  describePlace,
  describeTargetProblems,
  findKind,
  findTarget,
  type Target,
  toNamespace,
} from './targets.ts'

/** Finalizers may take long. */
const deletionMs = 3_600_000

export function deleteManifest(parts: KubernetesParts): OperationType {
  return defineOperation(parts, {
    check: (description, account) => {
      deleteOptionsOf(description['options'])
      if (!isByLabel(description)) return describeTargetProblems(account, targetOf(description))
      checkLabelQuery(description)
      return [describeNamespaceProblem(account, toNamespace(description['location']))]
    },
    changes: (description) => (isByLabel(description) ? labelNames(description) : [targetOf(description)]),
    run: async (running) => {
      const { description } = running
      const found = isByLabel(description) ? await findByLabels(running) : await findByName(running, targetOf(description))
      await deleteAll(running, found, deleteOptionsOf(description['options']))
      const names = found.map(({ name, place }) => ({ name, namespace: place.namespace }))
      running.run.report({ manifestNamesByNamespace: namesByNamespace(names) })
    },
  })
}

interface FoundObject extends Target {
  readonly live: KubeObject
}

function targetOf({ manifestName, location }: JsonObject): ChangedName {
  return { name: textOf(manifestName) ?? '', namespace: toNamespace(location) }
}

function isByLabel({ manifestName, kinds }: JsonObject): boolean {
  return textOf(manifestName) === undefined && textsOf(kinds).length > 0
}

function labelNames({ kinds, location }: JsonObject): ChangedName[] {
  return textsOf(kinds).map((kind) => ({ namespace: toNamespace(location), name: `${kind} by labels` }))
}

/** @throws {Error} where it would select everything */
function checkLabelQuery({ labelSelectors }: JsonObject): string {
  const { text } = parseSelectors(labelSelectors)
  if (!hasSelectors(labelSelectors) || text === '') {
    throw new Error('labelSelectors: at least one selector other than ANY is needed; otherwise everything would be deleted.')
  }
  return text
}

/** @throws {Error} for a text that is no way to delete */
function deleteOptionsOf(options: unknown): Pick<DeleteOptions, 'propagation' | 'gracePeriodSeconds'> {
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
  const words = ['orphanDependents', 'orphanDependants', 'cascading'].map((name) => wordOf(fieldOf(options, name)))
  const orphans = words[0] ?? words[1]
  if (orphans !== undefined) return orphans === 'true' ? 'Orphan' : 'Background'
  const cascading = words[2]
  if (cascading === undefined) return 'Background'
  const propagation = Object.hasOwn(propagations, cascading) ? propagations[cascading] : undefined
  if (propagation !== undefined) return propagation
  throw new Error(`options.cascading: "${cascading}" is none of true, false, foreground, background, orphan.`)
}

function wordOf(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'boolean') return undefined
  return String(value).trim().toLowerCase() || undefined
}

/** None where it does not exist. */
export async function findByName(running: Running, changed: ChangedName): Promise<FoundObject[]> {
  const target = await findTarget(running, { name: changed.name, namespace: changed.namespace ?? '' })
  const subject = describePlace(running.account, target.name, target.place.namespace)
  const live = await aboutObject(subject, () => running.account.api.get(target.place))
  return live === undefined ? [] : [{ ...target, live }]
}

async function findByLabels(running: Running): Promise<FoundObject[]> {
  const { account, description } = running
  const labelSelector = checkLabelQuery(description)
  const location = toNamespace(description['location'])
  const found: FoundObject[] = []
  for (const text of textsOf(description['kinds'])) {
    const { kind, resource } = await findKind(running, parseKind(text))
    const namespace = resource.isNamespaced ? location : ''
    if (resource.isNamespaced && namespace === '')
      throw new Error(`location: the namespace of objects of kind ${text} is missing.`)
    const listed = await aboutObject(describePlace(account, `objects of kind ${text}`, namespace), () =>
      account.api.list(resource, { ...(namespace !== '' && { namespace }), labelSelector }),
    )
    found.push(
      ...listed.map((live) => {
        const place = { resource, namespace, name: live.metadata.name }
        return { name: formatFullName(kind, live.metadata.name), kind, place, live }
      }),
    )
  }
  for (const { kind, place } of found) checkNamespaceObject(account, kind.name, place.name)
  return found
}

function checkNamespaceObject(account: KubernetesAccount, kind: string, name: string): void {
  const problem =
    kind === builtInKind({ kind: 'namespace', group: undefined })?.name ? describeNamespaceProblem(account, name) : undefined
  if (problem !== undefined) throw new Error(problem)
}

/** Rights on all of them are checked first; the task ends when all are gone. */
export async function deleteAll(
  running: Running,
  found: readonly FoundObject[],
  options: Pick<DeleteOptions, 'propagation' | 'gracePeriodSeconds'>,
): Promise<void> {
  await checkChanges(
    running,
    found.map((each) => toChange(each, each.live)),
  )
  const removal = { ...options, limitMs: deletionMs, awaitsOwned: true }
  const about = ({ name, place }: FoundObject) => describePlace(running.account, name, place.namespace)
  const waits = await callInTurns(found, async (each) => {
    const wait = await aboutObject(about(each), () => startRemoval(running, each, removal))
    return () => aboutObject(about(each), wait)
  })
  const failed = (await Promise.allSettled(waits.map((wait) => wait()))).find(({ status }) => status === 'rejected')
  running.run.signal.throwIfAborted()
  if (failed?.status === 'rejected') throw failed.reason
}
