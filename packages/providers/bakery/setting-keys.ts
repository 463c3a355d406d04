/** Settings of the embedded bakery: a few of its own, and those of each provider that bakes images. */

import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { z } from 'zod'
import { providerDeclarations } from '../declarations.ts'
import type { BakerySurroundings } from '../provider-type.ts'
import { manifestBakeKeys } from './manifests/settings.ts'
import type { BakerySettings } from './settings.ts'

export const BakeryKeys = z.strictObject({
  [standalone.commandsKey]: z
    .boolean()
    .optional()
    .describe(
      'Whether users may run commands on this machine: bakes, `runCommand`, and `runJob` without an image. ' +
        'Default: only when standalone and listening on loopback addresses only.',
    ),
  ...(Object.assign(
    {},
    ...providerDeclarations.map(({ bakery }) => bakery?.keys.shape),
  ) as z.core.$ZodShape),
  ...manifestBakeKeys.keys.shape,
  'bakery.default-provider': z
    .string()
    .min(1)
    .default(standalone.provider)
    .describe('Cloud provider of bakes that name none.'),
})
export type BakeryKeys = z.infer<typeof BakeryKeys>

export function toBakerySettings(
  keys: BakeryKeys,
  report: Pick<SettingsReport, 'problem'>,
  surroundings: BakerySurroundings,
): BakerySettings {
  const providers = providerDeclarations.map(
    ({ id, bakery }) => [id, bakery?.toSettings(keys, report, surroundings)] as const,
  )
  return {
    allowsCommands: keys[standalone.commandsKey] ?? surroundings.isPrivate,
    defaultProvider: keys['bakery.default-provider'],
    manifests: manifestBakeKeys.read(keys),
    providers: Object.fromEntries(providers),
  }
}
