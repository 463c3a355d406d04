/** All types of cloud providers, as the configuration and the gateway know them. */
import { kubernetesDeclaration } from './kubernetes/declaration.ts'
import { localDeclaration } from './local/declaration.ts'
import type { ProviderDeclaration } from './provider-type.ts'

export const providerDeclarations: readonly ProviderDeclaration[] = [
  localDeclaration as ProviderDeclaration,
  kubernetesDeclaration as ProviderDeclaration,
]
