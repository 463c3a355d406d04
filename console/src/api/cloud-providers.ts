/** What the API says about cloud providers and their accounts: which forms fit, which actions do not. */
import { objectsOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Schemas } from './client.ts'
import { useLive } from './live.ts'

export type CloudProvider = Schemas['CloudProvider']

/** Empty while they are not known. */
export function useCloudProviders(): readonly CloudProvider[] {
  return useLive('/capabilities/cloudProviders', {}, 'open').body ?? []
}

export function useCloudProvider(id: string | null | undefined): CloudProvider | undefined {
  return useCloudProviders().find((provider) => provider.id === id)
}

export function hasForm(
  providers: readonly CloudProvider[],
  id: string | undefined,
  form: string,
): boolean {
  return providers.some((provider) => provider.id === id && provider.forms.includes(form))
}

/** Whether its resources have manifests, which the screens of `manifests/` show. */
export function hasManifests(
  providers: readonly CloudProvider[],
  id: string | null | undefined,
): boolean {
  return providers.some((provider) => provider.id === id && provider.hasManifests === true)
}

export function useHasManifests(id: string | null | undefined): boolean {
  return hasManifests(useCloudProviders(), id)
}

export function useAccounts() {
  return useLive('/credentials', { query: { expand: true } }, 'slow')
}

export function providerOf({ cloudProvider, type }: Schemas['Account']): string {
  return cloudProvider ?? type
}

export function providersOf(accounts: readonly Schemas['Account'][]): readonly string[] {
  return [...new Set(accounts.map(providerOf))]
}

/** Providers list names, or objects with a name; some call them namespaces. */
export function regionsOf({ regions, ...account }: Schemas['Account']): readonly string[] {
  return [
    ...textsOf(regions),
    ...textsOf(account['namespaces']),
    ...objectsOf(regions).flatMap(({ name }) => scalarOf(name) ?? []),
  ]
}
