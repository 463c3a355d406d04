/** What a new installation offers first. */
import { useLive } from '../api/live.ts'
import { openDialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { objectsOf, textOf } from '../model/read.ts'
import { words } from '../words.ts'

export function FirstSteps() {
  const accounts = useLive('/credentials', { query: { expand: true } }, { refresh: 'open' }).reading.value.body ?? []
  const local = accounts.find(({ cloudProvider, type }) => (cloudProvider ?? type) === 'local')
  const region = textOf(objectsOf(local?.regions)[0]?.['name'])
  // What these dialogs need comes when they are wanted.
  const create = async () => {
    const { CreateApplication } = await import('./applications.tsx')
    openDialog(<CreateApplication />)
  }
  const deploy = async (place: { readonly account: string; readonly region: string }) => {
    const { DeployExample } = await import('./example.tsx')
    openDialog(<DeployExample place={place} />)
  }
  return (
    <>
      <button type="button" class="button is-primary" onClick={() => void create()}>
        <Icon name="plus" /> {words.createApplication}
      </button>
      {local !== undefined && region !== undefined && (
        <button type="button" class="button" onClick={() => void deploy({ account: local.name, region })}>
          <Icon name="play" /> {words.deployExample}
        </button>
      )}
    </>
  )
}
