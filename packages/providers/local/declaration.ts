/** Settings and description of the provider `local`. */
import { standalone } from '@fairlead/base/settings/standalone.ts'
import type { BakeryDeclaration, ProviderDeclaration } from '../provider-type.ts'
import { type BakeSettings, bakeKeys, toBakeSettings } from './bakes/settings.ts'
import { type LocalSettings, localKeys, toLocalSettings } from './settings.ts'
import { metricNames } from './traffic-metrics.ts'

export const bakeDeclaration: BakeryDeclaration<typeof bakeKeys.keys, BakeSettings> = {
  keys: bakeKeys.keys,
  toSettings: toBakeSettings,
}

export const localDeclaration: ProviderDeclaration<typeof localKeys.keys, LocalSettings> = {
  id: 'local',
  keys: localKeys.keys,
  toSettings: toLocalSettings,
  bakery: bakeDeclaration as BakeryDeclaration,
  uploadLimits: ({ images }) => ({
    ...images,
    bytesKey: 'local.images.max-size',
    entriesKey: 'local.images.max-files',
  }),
  description: {
    label: 'This machine',
    forms: ['loadBalancer', 'securityGroup'],
    refused: {},
    help: { certificate: 'A name of local.certificates.' },
    metrics: metricNames,
    imagesPath: standalone.imagesPath,
  },
  deckPlugin: { id: 'fairlead.local', name: 'Programs on this machine', folder: 'deck-plugin/' },
}
