/** What a run has deployed, and the environments of accounts: apart from what reads server groups, which the home page does not. */

import { scalarOf } from '@fairlead/base/json/values.ts'
import { imageOfStage, imagesIn } from '@fairlead/model/environments/images.ts'
import type { Schemas } from '../api/schema.d.ts'
import type { Execution } from './execution.ts'
import { accountIn } from './stage-output.ts'

/** The environment of each account: its field, else its name. */
export type Environments = ReadonlyMap<string, string>

export function toEnvironments(accounts: readonly Schemas['Account'][]): Environments {
  return new Map(
    accounts.map((account) => [account.name, scalarOf(account['environment']) ?? account.name]),
  )
}

/** What a run has put where: an image, or the name of a manifest's object, and accounts. */
export function deploymentsOf({ stages }: Execution) {
  const found = stages.flatMap(({ type, status, context, outputs }) => {
    const account = accountIn(context)
    if (status !== 'SUCCEEDED' || account === undefined) return []
    if (type === 'deployManifest')
      return imagesIn(outputs['manifests'] ?? context['manifests']).map((image) => ({
        image,
        account,
      }))
    const image = imageOfStage(context)
    return image !== undefined && context['deploy.server.groups'] !== undefined
      ? [{ image, account }]
      : []
  })
  const byImage = Map.groupBy(found, ({ image }) => image)
  return [...byImage].map(([image, all]) => ({
    image,
    accounts: [...new Set(all.map(({ account }) => account))],
  }))
}
