/** Objects of providers with manifests have one screen, wherever an address leads to them. */
import type { LoadScreen, ScreenProps } from '../address.ts'
import { hasManifests, providerOf } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { Lazy, Loading } from '../components/screen.tsx'
import { isFullName } from './object.ts'

const loadManifestScreen = async () => (await import('./manifest-screen.tsx')).ManifestScreen

/** @param load The usual screen of the address. */
export function OrManifest({ load, params, query }: ScreenProps & { readonly load: LoadScreen }) {
  const { account: ownAccount, region, id = '', name = id } = params
  const isAsked = region !== undefined && isFullName(name)
  const providers = useLive('/capabilities/cloudProviders', isAsked ? {} : undefined, 'open')
  const accounts = useLive(
    '/credentials',
    isAsked ? { query: { expand: true } } : undefined,
    'slow',
  )
  const isUnknown = [providers, accounts].some(
    ({ body, error }) => body === undefined && error === undefined,
  )
  if (isAsked && isUnknown) return <Loading rows={8} />
  const account = accounts.body?.find((one) => one.name === ownAccount)
  // What is not known counts as a provider without manifests.
  return isAsked && hasManifests(providers.body ?? [], account && providerOf(account)) ? (
    <Lazy
      load={loadManifestScreen}
      props={{ params: { ...params, location: region, name }, query }}
    />
  ) : (
    <Lazy load={load} props={{ params, query }} />
  )
}
