/** Objects of providers with manifests have one screen, wherever an address leads to them. */
import { hasManifests } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { Loading } from '../components/states.tsx'
import { Lazy } from '../editor/lazy.tsx'
import type { Screen, ScreenProps, ScreenRoute } from '../screen.ts'
import { isFullName } from './names.ts'

const loadManifestScreen = async () => (await import('./manifest-screen.tsx')).ManifestScreen

/** @param key Of the path's value with the name. */
export function orManifest(load: ScreenRoute['load'], key: string): ScreenRoute['load'] {
  return async () => {
    const Usual = await load()
    return (props) =>
      isFullName(props.params[key] ?? '') ? <ByProvider Usual={Usual} props={props} name={key} /> : <Usual {...props} />
  }
}

interface ByProviderProps {
  readonly Usual: Screen
  readonly props: ScreenProps
  readonly name: string
}

/** What is not known counts as a provider without manifests. */
function ByProvider({ Usual, props, name }: ByProviderProps) {
  const { params, query } = props
  const providers = useLive('/capabilities/cloudProviders', {}, { refresh: 'open' }).reading.value
  const accounts = useLive('/credentials', { query: { expand: true } }, { refresh: 'slow' }).reading.value
  if ([providers, accounts].some(({ body, error }) => body === undefined && error === undefined)) return <Loading rows={8} />
  const account = accounts.body?.find((one) => one.name === params['account'])
  if (!hasManifests(providers.body ?? [], account?.cloudProvider ?? account?.type)) return <Usual {...props} />
  const place = { ...params, location: params['region'] ?? '', name: params[name] ?? '' }
  return <Lazy load={loadManifestScreen} props={{ params: place, query }} />
}
