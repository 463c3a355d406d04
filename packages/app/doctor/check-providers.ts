/** The accounts of cloud providers that the embedded infrastructure deploys to. */

import type { Check, Timeouts } from '@fairlead/base/findings/finding.ts'
import { providerTypes } from '@fairlead/providers/all.ts'
import type { Config } from '../config/config.ts'

export function checkProviders(
  { backends }: Pick<Config, 'backends'>,
  timeouts: Timeouts,
): Check[] {
  return providerTypes.flatMap((type) => {
    const settings = backends.infrastructure?.providers[type.id]
    return settings === undefined ? [] : [...(type.checks?.(settings, timeouts) ?? [])]
  })
}
