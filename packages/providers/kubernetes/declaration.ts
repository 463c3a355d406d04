/** Settings and description of the provider `kubernetes`. */
import type { ProviderDeclaration } from '../provider-type.ts'
import { metricNames } from './reads/metric-queries.ts'
import { type KubernetesSettings, kubernetesKeys, toKubernetesSettings } from './settings.ts'

export const kubernetesDeclaration = {
  id: 'kubernetes',
  keys: kubernetesKeys.keys,
  toSettings: toKubernetesSettings,
  reloads: true,
  artifactTypes: [
    'kubernetes/configMap',
    'kubernetes/deployment',
    'kubernetes/replicaSet',
    'kubernetes/secret',
  ],
  description: {
    label: 'Kubernetes',
    forms: [],
    refused: {},
    help: {},
    hasManifests: true,
    metrics: metricNames,
  },
} satisfies ProviderDeclaration<typeof kubernetesKeys.keys, KubernetesSettings>
