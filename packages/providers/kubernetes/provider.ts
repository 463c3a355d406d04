/** The provider `kubernetes` as a type: it deploys manifests to clusters. */

import type { ProviderType } from '../provider-type.ts'
import { deployedMigrations } from './deployed-objects.ts'
import { KubernetesProvider } from './kubernetes.ts'
import { checkAccounts } from './needed-rights.ts'
import { metricNames } from './reads/metric-queries.ts'
import { type KubernetesSettings, kubernetesKeys, toKubernetesSettings } from './settings.ts'

const type: ProviderType<typeof kubernetesKeys.keys, KubernetesSettings> = {
  id: 'kubernetes',
  keys: kubernetesKeys.keys,
  toSettings: toKubernetesSettings,
  migrations: deployedMigrations,
  reloads: true,
  artifactTypes: [
    'kubernetes/configMap',
    'kubernetes/deployment',
    'kubernetes/replicaSet',
    'kubernetes/secret',
  ],
  checks: checkAccounts,
  open: (context, settings) => new KubernetesProvider(context, settings),
  description: {
    label: 'Kubernetes',
    forms: [],
    refused: {},
    help: {},
    hasManifests: true,
    metrics: metricNames,
  },
}

export const kubernetesProvider: ProviderType = type
