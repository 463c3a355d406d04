/** What a new installation offers first. */

import { objectsOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { providerOf, useAccounts, useCloudProviders } from '../api/cloud-providers.ts'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Mark } from '../components/text.tsx'

/** @param text What is empty, and what belongs there */
export function FirstSteps({ text = 'Nothing has run yet.' }: { text?: string }) {
  return (
    <section class="first-steps" aria-label="First steps">
      <Mark size={40} />
      <h2>{text}</h2>
      <p class="muted">
        Choose how to begin. Everything that an example makes can be removed again.
      </p>
      <ul>
        {useSteps().map(({ action, about, icon, open }, at) => (
          <li key={action} class="panel">
            <p>{about}</p>
            <Button kind={at === 0 ? 'primary' : undefined} icon={icon} onClick={() => void open()}>
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
  const { image, cluster } = usePlaces()
  const deploy = 'Deploy the example'
  const ofImages = image && {
    action: deploy,
    icon: 'play' as const,
    about:
      'A small web program in two versions, its load balancer, and a pipeline that replaces one version by the other. Takes seconds.',
    open: async () => {
      const { DeployExample, imageExample } = await import('./example.tsx')
      openDialog(<DeployExample example={imageExample(image)} />)
    },
  }
  const ofManifests = cluster && {
    action: image === undefined ? deploy : `${deploy} to ${cluster.label}`,
    icon: 'play' as const,
    about:
      'A deployment and a service from manifests, with a pipeline that rolls out the next version.',
    open: async () => {
      const { DeployExample, manifestExample } = await import('./example.tsx')
      openDialog(<DeployExample example={manifestExample(cluster)} />)
    },
  }
  const create = {
    action: 'Create application',
    about:
      'An application groups pipelines and what they deploy. Its first pipeline starts from a template.',
    icon: 'plus' as const,
    open: async () => {
      const { CreateApplication } = await import('./create-application.tsx')
      openDialog(<CreateApplication />)
    },
  }
  return [ofImages ?? [], ofManifests ?? [], create].flat()
}

/** The first account that takes uploaded images, and the first that takes manifests. */
function usePlaces() {
  const accounts = useAccounts().body ?? []
  const providers = useCloudProviders()
  const places = accounts.flatMap((account) => {
    const provider = providers.find(({ id }) => id === providerOf(account))
    const region = scalarOf(objectsOf(account.regions)[0]?.['name']) ?? ''
    const of = { account: account.name, region, namespaces: textsOf(account['namespaces']) }
    return provider === undefined ? [] : [{ ...of, ...provider, provider: provider.id }]
  })
  const [image] = places.flatMap(({ imagesPath, ...place }) =>
    imagesPath && place.region ? { imagesPath, ...place } : [],
  )
  return { image, cluster: places.find(({ hasManifests }) => hasManifests === true) }
}
