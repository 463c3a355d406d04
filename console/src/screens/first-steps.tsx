/** What a new installation offers first. */
import type { ComponentChildren } from 'preact'
import { useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Mark } from '../components/icon.tsx'
import type { ManifestExamplePlace } from '../manifests/example.tsx'
import { objectsOf, textOf, textsOf } from '../model/read.ts'
import type { ExamplePlace } from './example.tsx'

/** @param text What is empty, and what belongs there */
export function FirstSteps({ text = 'Nothing has run yet.' }: { text?: string }) {
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
  const example = 'Deploy the example'
  return (
    <section class="first-steps" aria-label="First steps">
      <Mark size={40} />
      <h2>{text}</h2>
      <p class="muted">Choose how to begin. Everything that an example makes can be removed again.</p>
      <ul>
        {images !== undefined && (
          <Step action={example} isFirst onClick={() => void deploy(images)}>
            A small web program in two versions, its load balancer, and a pipeline that replaces one version by the other. Takes
            seconds.
          </Step>
        )}
        {manifests !== undefined && (
          <Step
            action={images === undefined ? example : `${example} to ${manifests.label}`}
            isFirst={images === undefined}
            onClick={() => void deployManifests(manifests)}
          >
            A deployment and a service from manifests, with a pipeline that rolls out the next version.
          </Step>
        )}
        <Step action="Create application" isFirst={images === undefined && manifests === undefined} onClick={() => void create()}>
          An application groups pipelines and what they deploy. Its first pipeline starts from a template.
        </Step>
      </ul>
    </section>
  )
}

interface StepProps {
  readonly action: string
  readonly isFirst?: boolean
  readonly onClick: () => void
  readonly children: ComponentChildren
}

function Step({ action, isFirst = false, onClick, children }: StepProps) {
  const isExample = action !== 'Create application'
  return (
    <li class="panel">
      <p>{children}</p>
      <Button kind={isFirst ? 'primary' : undefined} icon={isExample ? 'play' : 'plus'} onClick={onClick}>
        {action}
      </Button>
    </li>
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
