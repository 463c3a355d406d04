/** Opens the editor for manifests: of an object as it was deployed, or for new ones. */
import { objectKey } from '../api/actions.ts'
import { client, unwrap } from '../api/client.ts'
import { changeOperation, useDenial } from '../api/rights.ts'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { act } from '../components/notices.tsx'
import { PendingChip } from '../components/pending-chip.tsx'
import { loadText } from '../editor/lazy.tsx'
import { type ObjectPlace, toEditable } from './object.ts'
import { keyOfObject, manifestPath, pathOf, useManifestAccounts } from './use-object.ts'

export function editManifest(object: { application: string; provider: string; place: ObjectPlace }): void {
  const { application, provider, place } = object
  const title = `Edit ${place.name}`
  act(title, async () => {
    const [view, yaml, { EditDialog }] = await Promise.all([
      unwrap(client.GET(manifestPath, { params: { path: pathOf(place) } })),
      loadText(),
      import('./edit-dialog.tsx'),
    ])
    const target = { title, application, provider, accounts: [place.account], object: keyOfObject(place) }
    openDialog(<EditDialog target={target} text={yaml.writeDocuments([toEditable(view)])} />)
  })
}

const starter = `apiVersion: v1
kind: ConfigMap
metadata:
  name: example
data:
  key: value
`

export function DeployButton({ application }: { application: string }) {
  const accounts = useManifestAccounts() ?? []
  const reason = useDenial({ operation: changeOperation, application })
  const [first] = accounts
  if (first === undefined) return null
  const title = 'Deploy manifests'
  // Of new objects, which have no page yet.
  const object = objectKey('manifests', application)
  const target = { title, application, provider: first.provider, accounts: accounts.map(({ name }) => name), object }
  const open = () =>
    act(title, async () => {
      const { EditDialog } = await import('./edit-dialog.tsx')
      openDialog(<EditDialog target={target} text={starter} />)
    })
  return (
    <>
      <PendingChip object={object} />
      <Button icon="plus" denied={reason} onClick={open}>
        {title}
      </Button>
    </>
  )
}
