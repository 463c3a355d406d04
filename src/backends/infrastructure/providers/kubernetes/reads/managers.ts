/** Managers of server groups: deployments with their replica sets. */
import type { OwnResource } from '../../../model.ts'
import type { KeptManager, KeptWorkload } from './kept-object.ts'
import { fullNameOf, resourceFields } from './views.ts'

export function toManager(account: string, manager: KeptManager, owned: readonly KeptWorkload[]): OwnResource {
  const serverGroups = owned.map((workload) => ({
    name: fullNameOf(workload),
    account,
    region: workload.namespace,
    namespace: workload.namespace,
    moniker: workload.moniker,
  }))
  return { account, moniker: manager.moniker, view: { ...resourceFields(manager, account), serverGroups } }
}
