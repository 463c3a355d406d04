/** What a new installation offers first. */
import { useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import type { ManifestExamplePlace } from '../manifests/example.tsx'
import { objectsOf, textOf, textsOf } from '../model/read.ts'
import { words } from '../words.ts'
import type { ExamplePlace } from './example.tsx'

export function FirstSteps() {
  const { images, manifests } = usePlaces()
  // What these dialogs need comes when they are wanted.
  const create = async () => {
    const { CreateApplication } = await import('./create-application.tsx')
    openDialog(<CreateApplication />)
  }
  const deploy = async (place: ExamplePlace) => {
    const { DeployExample } = await import('./example.tsx')
    openDialog(<DeployExample place={place} />)
  }
  const deployManifests = async (place: ManifestExamplePlace) => {
    const { DeployManifestExample } = await import('../manifests/example.tsx')
    openDialog(<DeployManifestExample place={place} />)
  }
  return (
    <>
      <Button kind="primary" icon="plus" onClick={() => void create()}>
        {words.createApplication}
      </Button>
      {images !== undefined && (
        <Button icon="play" onClick={() => void deploy(images)}>
          {words.deployExample}
        </Button>
      )}
      {manifests !== undefined && (
        <Button icon="play" onClick={() => void deployManifests(manifests)}>
          {images === undefined ? words.deployExample : words.deployExampleTo(manifests.label)}
        </Button>
      )}
    </>
  )
}

/** The first account that takes uploaded images, and the first that takes manifests. */
function usePlaces(): { images: ExamplePlace | undefined; manifests: ManifestExamplePlace | undefined } {
  const accounts = useLive('/credentials', { query: { expand: true } }, { refresh: 'open' }).reading.value.body ?? []
  const providers = useCloudProviders()
  const found = accounts.flatMap((account) => {
    const provider = providers.find(({ id }) => id === (account.cloudProvider ?? account.type))
    return provider === undefined ? [] : [{ account, provider }]
  })
  const images = found.flatMap(({ account, provider }): ExamplePlace[] => {
    const region = textOf(objectsOf(account.regions)[0]?.['name'])
    return provider.imagesPath === undefined || region === undefined
      ? []
      : [{ provider: provider.id, imagesPath: provider.imagesPath, account: account.name, region }]
  })
  const manifests = found.flatMap(({ account, provider: { id, label, ...description } }): ManifestExamplePlace[] =>
    description.hasManifests === true
      ? [{ provider: id, label, account: account.name, namespaces: textsOf(account['namespaces']) }]
      : [],
  )
  return { images: images[0], manifests: manifests[0] }
}
