/** Settings of the embedded infrastructure: a few of its own, and those of each provider. */
import { z } from 'zod'
import type { SettingsReport } from '../../settings/setting.ts'
import { providerTypes } from './providers/all.ts'
import type { ProviderSurroundings } from './providers/provider-type.ts'
import type { InfrastructureSettings } from './settings.ts'

const names = z.array(z.string())

export const InfrastructureKeys = z.strictObject({
  ...(Object.assign({}, ...providerTypes.map(({ keys }) => keys.shape)) as z.core.$ZodShape),
  'credentials.challengeDestructiveActionsEnvironments': names
    .default(['default'])
    .describe('Environments of accounts where Deck asks users to confirm before it destroys anything.'),
  'credentials.primaryAccountTypes': names.default(['default']).describe('Types of accounts that are marked as primary.'),
})
export type InfrastructureKeys = z.infer<typeof InfrastructureKeys>

export function toInfrastructureSettings(
  keys: InfrastructureKeys,
  report: SettingsReport,
  surroundings: ProviderSurroundings = { ownPorts: [] },
): InfrastructureSettings {
  const providers = providerTypes.map((type) => [type.id, type.toSettings(keys, report, surroundings)] as const)
  return {
    challengedEnvironments: keys['credentials.challengeDestructiveActionsEnvironments'],
    primaryAccountTypes: keys['credentials.primaryAccountTypes'],
    providers: Object.fromEntries(providers.filter(([, settings]) => settings !== undefined)),
  }
}
