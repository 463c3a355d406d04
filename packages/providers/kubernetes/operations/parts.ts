/** Common parts of the operations on Kubernetes: their accounts, checks and errors. */
import { setTimeout as sleep } from 'node:timers/promises'
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { accountOf } from '@fairlead/ports/cloud-values.ts'
import type { OperationRun, OperationType } from '../../infrastructure/operation-type.ts'
import { isApiError, isPassing } from '../api/api-error.ts'
import { parseFullName, printKind } from '../kinds.ts'
import { toResults } from '../manifests/secrets.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount, KubernetesParts } from '../parts.ts'

export interface ManifestRun {
  readonly parts: KubernetesParts
  readonly account: KubernetesAccount
  readonly run: Pick<OperationRun, 'id' | 'user' | 'signal' | 'cancellation' | 'note' | 'report'>
}

export type KubernetesOperation = (parts: KubernetesParts) => OperationType

/** Sentences; conditions that do not hold are none. */
export type ManifestProblems = readonly (string | false | undefined)[]

interface ManifestOperation<D> {
  readonly reads: (description: JsonObject) => D
  /** What is wrong beyond the account; the account exists. */
  readonly check: (description: D, account: KubernetesAccount) => ManifestProblems
  /** Applications that it names; owners of live objects are checked when it runs. */
  readonly applications?: (description: D) => readonly string[]
  readonly accounts?: (description: D) => readonly string[]
  /** Full names of the objects that it changes, each with its namespace; none: it waits for no other operation. */
  readonly changes: (description: D) => readonly ChangedName[]
  readonly run: (running: ManifestRun, description: D) => Promise<void>
}

export interface ChangedName {
  /** Empty for cluster-wide objects; undefined: that of manifests that name none. */
  readonly namespace: string | undefined
  readonly name: string
}

export function defineManifestOperation<D>(body: ManifestOperation<D>): KubernetesOperation {
  const { reads, applications = () => [], accounts = () => [] } = body
  return (parts) => ({
    check(description) {
      const name = accountOf(description)
      if (name === undefined) return ['account: it is missing (account.empty).']
      const account = parts.account(name)
      if (account === undefined) return [`account: "${name}" does not exist (account.notFound).`]
      try {
        return body
          .check(reads(description), account)
          .filter((problem) => problem !== false && problem !== undefined)
      } catch (error) {
        return [(error as Error).message]
      }
    },
    applications: (description) => applications(reads(description)),
    accounts: (description) => accounts(reads(description)),
    order: (description) => {
      const name = accountOf(description)
      const place = `kubernetes/${name}`
      const usual =
        (name === undefined ? undefined : parts.account(name)?.defaultNamespace) ?? 'default'
      return body
        .changes(reads(description))
        .map((changed) => `${place}/${changed.namespace ?? usual}/${orderName(changed.name)}`)
    },
    run: (description, run) =>
      // All of it waits for the API server, which may take long.
      run.releaseWhile(() =>
        carryOut(parts, run, () => {
          const account = requireAccount(parts, description)
          const running = body.run({ parts, account, run }, reads(description))
          return sayingSilence(account, run, running)
        }),
      ),
  })
}

const outagePauses = { firstMs: 500, longestMs: 5000 }
/** An attempt that took longer has got answers: its outage is a new one. */
const longAttemptMs = 10 * 60_000

/** An API server that restarts fails no operation: it begins again, as after a crash. */
async function carryOut(
  parts: KubernetesParts,
  run: ManifestRun['run'],
  attempt: () => Promise<void>,
): Promise<void> {
  const { steady } = parts.context
  const { outageMs } = parts.settings
  let awaySinceMs: number | undefined
  for (let round = 0; ; round++) {
    const startMs = steady()
    try {
      return await attempt()
    } catch (error) {
      if (awaySinceMs === undefined || steady() - startMs > longAttemptMs) awaySinceMs = steady()
      if (run.signal.aborted || !isAway(error) || steady() - awaySinceMs > outageMs)
        throw toTaskError(error, run.signal)
      if (round === 0) run.note('The API server does not answer; trying again …')
    }
    await sleep(backOffMs(outagePauses, round), undefined, { signal: run.signal })
  }
}

/** A request to an API server that hangs ends only after its time. */
async function sayingSilence(
  { presence, settings: { name } }: KubernetesAccount,
  run: ManifestRun['run'],
  running: Promise<void>,
): Promise<void> {
  presence
    ?.wait(running)
    .catch(
      () =>
        presence.absence &&
        run.note(
          `The API server of the account ${name} does not answer: ${presence.absence.reason}. The operation goes on when it is back.`,
        ),
    )
  return running
}

/** No answer, too many requests, or a server that is not ready; other faults repeat themselves. */
function isAway(error: unknown): boolean {
  return [error, (error as Error).cause].some((each) => isApiError(each, 0, 429, 503))
}

function orderName(name: string): string {
  const full = parseFullName(name)
  return full === undefined ? name : `${printKind(full)} ${full.name}`
}

function requireAccount(parts: KubernetesParts, description: JsonObject): KubernetesAccount {
  const name = accountOf(description) ?? ''
  const account = parts.account(name)
  if (account === undefined) throw new Error(`The account "${name}" does not exist.`)
  return account
}

/** While Fairlead stops, a call that breaks off is no failure: the operation runs again. */
function toTaskError(error: unknown, signal: AbortSignal): unknown {
  const cause = error instanceof Error ? error.cause : undefined
  return signal.aborted && (isPassing(error) || isPassing(cause)) ? signal.reason : error
}

interface NamedObject {
  /** Full name. */
  readonly name: string
  /** Empty for cluster-wide objects. */
  readonly namespace: string
}

export function namesByNamespace(objects: readonly NamedObject[]): Record<string, string[]> {
  const names: Record<string, string[]> = {}
  for (const { name, namespace } of objects) {
    const there = Object.hasOwn(names, namespace) ? (names[namespace] as string[]) : []
    if (!there.includes(name)) names[namespace] = [...there, name]
  }
  return names
}

interface WrittenObject extends NamedObject {
  readonly object: KubeObject
  readonly artifact?: JsonObject
}

export function toManifestResult(
  written: readonly WrittenObject[],
  bound: readonly JsonObject[],
): JsonObject {
  return {
    manifests: toResults(written.map(({ object }) => object)),
    manifestNamesByNamespace: namesByNamespace(written),
    createdArtifacts: written.flatMap(({ artifact }) => artifact ?? []),
    boundArtifacts: bound,
  }
}
