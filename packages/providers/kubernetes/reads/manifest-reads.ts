/** Reads of manifests, of all accounts. */
import { randomUUID } from 'node:crypto'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import type { ManifestReads } from '../../infrastructure/provider.ts'
import { isPassing } from '../api/api-error.ts'
import { loadDrift } from '../drift.ts'
import { describeDeployProblems } from '../operations/deploy.ts'
import { planManifests } from '../operations/plan.ts'
import type { KubernetesParts } from '../parts.ts'
import type { AccountLists } from './account-lists.ts'
import { findClusterMembers, findManifest } from './manifests.ts'
import { answered } from './object-lookup.ts'

/** Longest time of a plan. */
const planMs = 60_000

/** @param readsOf What is known of an account, by its name */
export function createManifestReads(
  parts: KubernetesParts,
  readsOf: (account: string) => AccountLists | undefined,
): ManifestReads {
  return {
    async find({ account: name, ...wanted }, choice) {
      const account = parts.account(name)
      return account && findManifest(account, wanted, choice)
    },
    async ofCluster(wanted) {
      const account = parts.account(wanted.account)
      return account === undefined ? [] : findClusterMembers(account, wanted)
    },
    async drift({ isReadable, ...query }) {
      const accounts = parts
        .accounts()
        .filter(({ settings: { name } }) => (query.account === undefined || name === query.account) && isReadable(name))
      const found = accounts.map((account) => {
        const namespaces = readsOf(account.settings.name)?.namespacesOf(query.application) ?? []
        return answered(account, () => loadDrift(account, namespaces, query))
      })
      return (await Promise.all(found)).flat()
    },
    plan: (description, user) => planDeployment(parts, description, user),
  }
}

/** @throws {PortError} 400 */
async function planDeployment(parts: KubernetesParts, description: JsonObject, user: string): Promise<JsonObject[]> {
  const account = parts.account(textOf(description['account']) ?? '')
  if (account === undefined) throw new PortError(400, `The account "${String(description['account'])}" does not exist.`)
  const problems = describeDeployProblems(description, account).filter((problem) => problem !== undefined)
  if (problems.length > 0) throw new PortError(400, problems.join(' '), { errors: problems })
  const signal = AbortSignal.timeout(planMs)
  try {
    const differences = await planManifests({ parts, account, description, run: { id: randomUUID(), user, signal } })
    return differences.map((difference) => ({ ...difference }))
  } catch (error) {
    if (error instanceof PortError) throw error
    throw new PortError(isPassing(error) ? 503 : 400, (error as Error).message)
  }
}
