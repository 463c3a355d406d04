/** The plan of a deployment, and the job that deploys. */
import { type Change, objectKey } from '../api/actions.ts'
import { client, unwrap } from '../api/client.ts'
import { type Json, objectOf, textOf } from '../model/read.ts'
import type { ObjectPlace } from './object.ts'
import { type PlannedObject, toPlan } from './plan.ts'

export interface DeployTarget {
  readonly application: string
  readonly provider: string
  /** Those to choose from. */
  readonly accounts: readonly string[]
  readonly account: string
  /** The object that is edited; undefined for new ones. */
  readonly place?: ObjectPlace
}

/** @throws {ApiError} */
export async function loadPlan(
  { account, application }: DeployTarget,
  manifests: readonly Json[],
): Promise<readonly PlannedObject[]> {
  const body = { account, application, manifests: [...manifests] }
  return toPlan(await unwrap(client.POST('/manifests/plan', { body })))
}

export function toDeployChange(target: DeployTarget, manifests: readonly Json[]): Change {
  const { application, provider, account, place } = target
  const names = manifests.map((manifest) => textOf(objectOf(manifest['metadata'])['name']) ?? textOf(manifest['kind']) ?? '')
  return {
    application,
    description: `Deploy ${names.join(', ')}`,
    job: [
      {
        type: 'deployManifest',
        cloudProvider: provider,
        account,
        credentials: account,
        source: 'text',
        moniker: { app: application },
        manifests: [...manifests],
      },
    ],
    object:
      place === undefined ? objectKey('manifests', account) : objectKey('manifest', place.account, place.location, place.name),
  }
}

/** Of new objects, which have no page yet. */
export function keyOfDeployment(account: string): string {
  return objectKey('manifests', account)
}
