/** What a new installation offers first. */
import { useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Mark } from '../components/icon.tsx'
import type { ManifestPlace } from '../manifests/example.ts'
import { objectsOf, textOf, textsOf } from '../model/read.ts'
import type { ImagePlace } from './example.tsx'

/** @param text What is empty, and what belongs there */
export function FirstSteps({ text = 'Nothing has run yet.' }: { text?: string }) {
  return (
    <section class="first-steps" aria-label="First steps">
      <Mark size={40} />
      <h2>{text}</h2>
      <p class="muted">Choose how to begin. Everything that an example makes can be removed again.</p>
      <ul>
        {useSteps().map(({ action, about, open }, at) => (
          <li key={action} class="panel">
            <p>{about}</p>
            <Button
              kind={at === 0 ? 'primary' : undefined}
              icon={action === 'Create application' ? 'plus' : 'play'}
              onClick={() => void open()}
            >
              {action}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Examples for what the accounts are able to run. What a dialog needs comes when it is wanted. */
function useSteps() {
  const { images, manifests } = usePlaces()
  const deploy = 'Deploy the example'
  return [
    ...images.slice(0, 1).map((place) => ({
      action: deploy,
      about:
        'A small web program in two versions, its load balancer, and a pipeline that replaces one version by the other. Takes seconds.',
      open: async () => {
        const { DeployExample, imageExample } = await import('./example.tsx')
        openDialog(<DeployExample example={imageExample(place)} />)
      },
    })),
    ...manifests.slice(0, 1).map((place) => ({
      action: images.length === 0 ? deploy : `${deploy} to ${place.label}`,
      about: 'A deployment and a service from manifests, with a pipeline that rolls out the next version.',
      open: async () => {
        const [{ DeployExample }, { manifestExample }] = await Promise.all([
          import('./example.tsx'),
          import('../manifests/example.ts'),
        ])
        openDialog(<DeployExample example={manifestExample(place)} />)
      },
    })),
    {
      action: 'Create application',
      about: 'An application groups pipelines and what they deploy. Its first pipeline starts from a template.',
      open: async () => {
        const { CreateApplication } = await import('./create-application.tsx')
        openDialog(<CreateApplication />)
      },
    },
  ]
}

/** Accounts that take uploaded images, and those that take manifests. */
function usePlaces(): { images: readonly ImagePlace[]; manifests: readonly ManifestPlace[] } {
  const accounts = useLive('/credentials', { query: { expand: true } }, { refresh: 'open' }).reading.value.body ?? []
  const providers = useCloudProviders()
  const found = accounts.flatMap((account) => {
    const provider = providers.find(({ id }) => id === (account.cloudProvider ?? account.type))
    const region = textOf(objectsOf(account.regions)[0]?.['name'])
    return provider === undefined ? [] : [{ ...provider, account, region }]
  })
  return {
    images: found.flatMap(({ id, imagesPath, account: { name }, region }) =>
      imagesPath === undefined || region === undefined ? [] : [{ provider: id, imagesPath, account: name, region }],
    ),
    manifests: found.flatMap(({ id, label, hasManifests, account }) =>
      hasManifests === true ? [{ provider: id, label, account: account.name, namespaces: textsOf(account['namespaces']) }] : [],
    ),
  }
}
