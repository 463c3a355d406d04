/** Settings of the embedded infrastructure: a few of its own, and those of each provider. */

import { keysOf, type SettingsReport } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import { ArtifactKeys, toArtifactSettings } from '../artifacts/all.ts'
import { providerDeclarations } from '../declarations.ts'
import type { ProviderSurroundings } from '../provider-type.ts'
import type { InfrastructureSettings } from './settings.ts'

const names = z.array(z.string())

export const InfrastructureKeys = z.strictObject({
  ...keysOf(providerDeclarations),
  ...ArtifactKeys.shape,
  'credentials.challengeDestructiveActionsEnvironments': names
    .default(['default'])
    .describe(
      'Environments of accounts where Deck asks users to confirm before it destroys anything.',
    ),
  'credentials.primaryAccountTypes': names
    .default(['default'])
    .describe('Types of accounts that are marked as primary.'),
})
export type InfrastructureKeys = z.infer<typeof InfrastructureKeys>

export function toInfrastructureSettings(
  keys: InfrastructureKeys,
  report: SettingsReport,
  surroundings: ProviderSurroundings = { ownPorts: [] },
): InfrastructureSettings {
  const providers = providerDeclarations.map(
    (type) => [type.id, type.toSettings(keys, report, surroundings)] as const,
  )
  return {
    challengedEnvironments: keys['credentials.challengeDestructiveActionsEnvironments'],
    primaryAccountTypes: keys['credentials.primaryAccountTypes'],
    providers: Object.fromEntries(providers.filter(([, settings]) => settings !== undefined)),
    artifacts: toArtifactSettings(keys, report),
  }
}

interface WithInfrastructure {
  infrastructure?: InfrastructureSettings
}

/** The current settings, with those of the next that count without a restart. */
export function withReloaded<Settings extends WithInfrastructure>(
  current: Settings,
  next: WithInfrastructure,
): Settings {
  return withProviders(current, (providers) => {
    const changed = Object.entries(next.infrastructure?.providers ?? {}).filter(
      ([id]) => isReloaded(id) && id in providers,
    )
    return { ...providers, ...Object.fromEntries(changed) }
  })
}

function withProviders<Settings extends WithInfrastructure>(
  settings: Settings,
  change: (providers: InfrastructureSettings['providers']) => InfrastructureSettings['providers'],
): Settings {
  const { infrastructure } = settings
  if (infrastructure === undefined) return settings
  return {
    ...settings,
    infrastructure: { ...infrastructure, providers: change(infrastructure.providers) },
  }
}

function isReloaded(id: string): boolean {
  return providerDeclarations.some((type) => type.id === id && type.reloads === true)
}
