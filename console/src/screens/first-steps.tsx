/** What a new installation offers first. */
import { useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { openDialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { objectsOf, textOf } from '../model/read.ts'
import { words } from '../words.ts'
import type { ExamplePlace } from './example.tsx'

export function FirstSteps() {
  const accounts = useLive('/credentials', { query: { expand: true } }, { refresh: 'open' }).reading.value.body ?? []
  const providers = useCloudProviders()
  const toProvider = ({ cloudProvider, type }: (typeof accounts)[number]) =>
    providers.find(({ id, imagesPath }) => id === (cloudProvider ?? type) && imagesPath !== undefined)
  const account = accounts.find((each) => toProvider(each) !== undefined)
  const provider = account && toProvider(account)
  const region = textOf(objectsOf(account?.regions)[0]?.['name'])
  // What these dialogs need comes when they are wanted.
  const create = async () => {
    const { CreateApplication } = await import('./create-application.tsx')
    openDialog(<CreateApplication />)
  }
  const deploy = async (place: ExamplePlace) => {
    const { DeployExample } = await import('./example.tsx')
    openDialog(<DeployExample place={place} />)
  }
  return (
    <>
      <button type="button" class="button is-primary" onClick={() => void create()}>
        <Icon name="plus" /> {words.createApplication}
      </button>
      {account !== undefined && provider?.imagesPath !== undefined && region !== undefined && (
        <button
          type="button"
          class="button"
          onClick={() =>
            void deploy({ provider: provider.id, imagesPath: provider.imagesPath ?? '', account: account.name, region })
          }
        >
          <Icon name="play" /> {words.deployExample}
        </button>
      )}
    </>
  )
}
