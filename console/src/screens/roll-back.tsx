/** The choice of a server group to roll back, for the search. */
import { client, unwrap } from '../api/client.ts'
import { Button } from '../components/button.tsx'
import { closeDialog, Dialog, openDialog } from '../components/dialog.tsx'
import { Name } from '../components/text.tsx'
import { isFullName } from '../manifests/object.ts'
import { countsOf, isEnabled, type ServerGroup, siblingsOf, versionOf } from '../model/server-groups.ts'
import { askRollBack } from './server-group-actions.tsx'

/** Asks at once where there is one; false where there is none to choose here, as objects with manifests. */
export async function chooseRollBack(application: string): Promise<boolean> {
  const path = { applicationName: application }
  const groups = await unwrap(client.GET('/applications/{applicationName}/serverGroups', { params: { path } })).catch(() => [])
  const serving = groups.filter(
    (group) => !isFullName(group.name) && isEnabled(group) && countsOf(group).total > 0 && siblingsOf(group, groups).length > 0,
  )
  const [only, ...others] = serving
  if (only === undefined) return false
  const ask = (group: ServerGroup) => {
    closeDialog()
    askRollBack(group, { application, groups })
  }
  if (others.length === 0) ask(only)
  else
    openDialog(
      <Dialog title={`Roll back ${application}: which server group?`}>
        <ul class="stack">
          {serving.map((group) => (
            <li key={`${group.account} ${group.region} ${group.name}`} class="row">
              <Button icon="undo" onClick={() => ask(group)}>
                <Name text={group.name} max={40} />
              </Button>
              <span class="muted">
                <Name text={versionOf(group) ?? ''} max={40} /> in {group.account} / {group.region}
              </span>
            </li>
          ))}
        </ul>
      </Dialog>,
    )
  return true
}
