/** Opens the editor for manifests: of an object as it was deployed, or for new ones. */
import { client, unwrap } from '../api/client.ts'
import { openDialog } from '../components/dialog.tsx'
import { act } from '../components/notices.tsx'
import { loadYaml } from '../editor/load-yaml.ts'
import type { DeployTarget } from './deploy.ts'
import { type ObjectPlace, toEditable } from './object.ts'
import { manifestWords } from './words.ts'

export function editManifest(object: Pick<DeployTarget, 'application' | 'provider'> & { readonly place: ObjectPlace }): void {
  const { application, provider, place } = object
  const { account, location, name } = place
  act(manifestWords.editOf(name), async () => {
    const path = { account, location: location || '_', name }
    const [view, yaml, { EditDialog }] = await Promise.all([
      unwrap(client.GET('/manifests/{account}/{location}/{name}', { params: { path } })),
      loadYaml(),
      import('./edit-dialog.tsx'),
    ])
    const target = { application, provider, accounts: [account], account, place }
    openDialog(<EditDialog target={target} text={yaml.writeDocuments([toEditable(view)])} />)
  })
}

export function deployManifests(target: Omit<DeployTarget, 'place'>): void {
  act(manifestWords.newTitle, async () => {
    const { EditDialog } = await import('./edit-dialog.tsx')
    openDialog(<EditDialog target={target} text={starter} />)
  })
}

const starter = `apiVersion: v1
kind: ConfigMap
metadata:
  name: example
data:
  key: value
`
