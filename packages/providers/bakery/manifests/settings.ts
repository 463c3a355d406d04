/** Settings of manifest bakes: the programs that render, and their bounds. */

import { defaultsOf, type SettingsOf, setting, settings } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

const path = z.string().min(1).optional()

export const manifestBakeKeys = settings(
  {
    programs: {
      helm2: setting(['bakery.manifests.helm2', 'helm.v2ExecutablePath'], path).describe(
        'Path of Helm 2, for manifests of type HELM2. Default: `helm2` in PATH.',
      ),
      helm3: setting(['bakery.manifests.helm3', 'helm.v3ExecutablePath'], path).describe(
        'Path of Helm 3 or later, for manifests of type HELM3. Default: `helm3` or `helm` in PATH.',
      ),
      helmfile: setting(['bakery.manifests.helmfile', 'helmfile.executablePath'], path).describe(
        'Path of Helmfile, for manifests of type HELMFILE. A helmfile may run programs as the user of Fairlead, so Helmfile is used ' +
          'only where this is set and `bakery.local.enabled` is true.',
      ),
      kustomize: setting(
        ['bakery.manifests.kustomize', 'kustomize.v3ExecutablePath'],
        path,
      ).describe(
        'Path of Kustomize, for manifests of type KUSTOMIZE. Default: `kustomize` in PATH, else `kubectl kustomize`.',
      ),
      kustomize4: setting(
        ['bakery.manifests.kustomize4', 'kustomize.v4ExecutablePath'],
        path,
      ).describe(
        'Path of Kustomize, for manifests of type KUSTOMIZE4. Default: `kustomize4` or `kustomize` in PATH, else `kubectl kustomize`.',
      ),
      kustomize5: setting(
        ['bakery.manifests.kustomize5', 'kustomize.v5ExecutablePath'],
        path,
      ).describe(
        'Path of Kustomize, for manifests of type KUSTOMIZE5. Default: `kustomize5` or `kustomize` in PATH, else `kubectl kustomize`.',
      ),
      kubectl: setting('bakery.manifests.kubectl', path).describe(
        'Path of kubectl, which renders where Kustomize is not installed. Default: `kubectl` in PATH.',
      ),
    },
    timeLimitMs: setting(
      'bakery.manifests.time-limit-seconds',
      z
        .number()
        .min(0.1)
        .max(100)
        .default(60)
        .transform((seconds) => Math.round(seconds * 1000)),
    ).describe('Seconds that a program may take for one manifest.'),
    maxRunning: setting('bakery.manifests.max-running', z.int().min(1).default(8)).describe(
      'Manifests that may be baked at the same time; more are answered with 503.',
    ),
  },
  { 'helm.overridesFileThreshold': 'Each override is an argument, whatever its length.' },
)
export type ManifestBakeSettings = SettingsOf<typeof manifestBakeKeys>

export type ProgramName = keyof ManifestBakeSettings['programs']

export const defaultManifestBakeSettings: ManifestBakeSettings = defaultsOf(manifestBakeKeys)
