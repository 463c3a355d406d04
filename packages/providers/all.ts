/** All types of cloud providers, with what opens them; `declarations.ts` lists the same. */
import { kubernetesProvider } from './kubernetes/provider.ts'
import { localProvider } from './local/provider.ts'
import type { ProviderType } from './provider-type.ts'

export const providerTypes: readonly ProviderType[] = [localProvider, kubernetesProvider]
