/** Finds a server group to roll back, for the search. */
import { client } from '../api/client.ts'
import { confirm } from '../components/confirm-dialog.tsx'
import { groupPlace, toRollBack, versionOf } from '../model/server-groups.ts'
import { askRollBack } from './server-group-actions.tsx'

/**
 * Asks at once where there is one; false where there is none to choose here, as objects with manifests.
 *
 * @param clusters Of the environment or the run; all unless given
 */
export async function chooseRollBack(
  application: string,
  clusters?: Parameters<typeof toRollBack>[1],
): Promise<boolean> {
  const path = { applicationName: application }
  const groups = await client
    .GET('/applications/{applicationName}/serverGroups', { params: { path } })
    .catch(() => [])
  const serving = toRollBack(groups, clusters)
  const ask = (at: number) => serving[at] && askRollBack(serving[at], { application, groups })
  const choices = serving.map((group, at) => {
    const { account, region, name } = groupPlace(group)
    return [String(at), `${name}: ${versionOf(group) ?? ''} in ${account} / ${region}`] as const
  })
  const question = {
    action: `Roll back ${application}`,
    values: { group: '0' },
    fields: { group: { label: 'Server group', choices } },
  }
  if (serving.length === 1) ask(0)
  else if (serving.length > 1)
    confirm({ ...question, run: async ({ group }) => ask(Number(group)) })
  return serving.length > 0
}
