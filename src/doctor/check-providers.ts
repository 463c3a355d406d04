/** The accounts of cloud providers that the embedded infrastructure deploys to. */
import { providerTypes } from '../backends/infrastructure/providers/all.ts'
import type { Config } from '../config/config.ts'
import type { Check, Timeouts } from '../findings/finding.ts'

export function checkProviders({ backends }: Pick<Config, 'backends'>, timeouts: Timeouts): Check[] {
  return providerTypes.flatMap((type) => {
    const settings = backends.infrastructure?.providers[type.id]
    return settings === undefined ? [] : [...(type.checks?.(settings, timeouts) ?? [])]
  })
}
