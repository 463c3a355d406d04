/** What the API says about cloud providers: which forms fit, which actions do not. */
import type { Schemas } from './client.ts'
import { useLive } from './live.ts'

export type CloudProvider = Schemas['CloudProvider']

/** Empty while they are not known. */
export function useCloudProviders(): readonly CloudProvider[] {
  return useLive('/capabilities/cloudProviders', {}, { refresh: 'open' }).reading.value.body ?? []
}

export function useCloudProvider(id: string | null | undefined): CloudProvider | undefined {
  return useCloudProviders().find((provider) => provider.id === id)
}

export function hasForm(providers: readonly CloudProvider[], id: string | undefined, form: string): boolean {
  return providers.some((provider) => provider.id === id && provider.forms.includes(form))
}

/** Whether its resources have manifests, which the screens of `manifests/` show. */
export function hasManifests(providers: readonly CloudProvider[], id: string | null | undefined): boolean {
  return providers.some((provider) => provider.id === id && provider.hasManifests === true)
}
