/** Objects of providers with manifests have one screen, wherever an address leads to them. */
import { hasManifests } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { Loading } from '../components/states.tsx'
import { Lazy } from '../editor/lazy.tsx'
import type { LoadScreen } from '../screen.ts'
import { isFullName } from './names.ts'

const loadManifestScreen = async () => (await import('./manifest-screen.tsx')).ManifestScreen

/** @param key Of the path's value with the name. */
export function orManifest(load: LoadScreen, key: string): LoadScreen {
  return async () => {
    const Usual = await load()
    return (props) => {
      const { params, query } = props
      const name = params[key] ?? ''
      const parameters = isFullName(name) ? { query: { expand: true } } : undefined
      const providers = useLive('/capabilities/cloudProviders', parameters && {}, { refresh: 'open' }).reading.value
      const accounts = useLive('/credentials', parameters, { refresh: 'slow' }).reading.value
      if (parameters === undefined) return <Usual {...props} />
      if ([providers, accounts].some(({ body, error }) => body === undefined && error === undefined)) return <Loading rows={8} />
      const account = accounts.body?.find((one) => one.name === params['account'])
      // What is not known counts as a provider without manifests.
      if (!hasManifests(providers.body ?? [], account?.cloudProvider ?? account?.type)) return <Usual {...props} />
      return <Lazy load={loadManifestScreen} props={{ params: { ...params, location: params['region'] ?? '', name }, query }} />
    }
  }
}
