/** The provider `kubernetes` as a type: it deploys manifests to clusters. */

import type { ProviderType } from '../provider-type.ts'
import { kubernetesDeclaration } from './declaration.ts'
import { deployedMigrations } from './deployed-objects.ts'
import { KubernetesProvider } from './kubernetes.ts'
import { checkAccounts } from './needed-rights.ts'
import type { KubernetesSettings, kubernetesKeys } from './settings.ts'

const type: ProviderType<typeof kubernetesKeys.keys, KubernetesSettings> = {
  ...kubernetesDeclaration,
  migrations: deployedMigrations,
  checks: checkAccounts,
  open: (context, settings) => new KubernetesProvider(context, settings),
}

export const kubernetesProvider: ProviderType = type
