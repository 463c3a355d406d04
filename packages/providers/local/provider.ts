/** The provider `local` as a type: server groups are processes of this machine. */
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { imageMigrations } from '../images/image-store.ts'
import type { BakeryType, ProviderType } from '../provider-type.ts'
import { bakeMigrations } from './bakes/bake-store.ts'
import { Bakes } from './bakes/bakes.ts'
import { type BakeTimes, bakeTimes } from './bakes/running-bakes.ts'
import { type BakeSettings, bakeKeys, toBakeSettings } from './bakes/settings.ts'
import { checkContainers } from './check-containers.ts'
import { desiredMigrations } from './desired.ts'
import { LocalProvider } from './local.ts'
import { type LocalSettings, localKeys, toLocalSettings } from './settings.ts'
import { metricNames } from './traffic-metrics.ts'

export function createLocalProvider(times: BakeTimes): ProviderType {
  const type: ProviderType<typeof localKeys.keys, LocalSettings> = {
    id: 'local',
    keys: localKeys.keys,
    toSettings: toLocalSettings,
    migrations: [...desiredMigrations, ...imageMigrations],
    sharesMigrations: true,
    open: (context, settings) => new LocalProvider(context, settings),
    bakery: bakeryOf(times),
    checks: checkContainers,
    uploadLimits: ({ images }) => ({ ...images, bytesKey: 'local.images.max-size', entriesKey: 'local.images.max-files' }),
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
  return type
}

function bakeryOf(times: BakeTimes): BakeryType {
  const type: BakeryType<typeof bakeKeys.keys, BakeSettings> = {
    keys: bakeKeys.keys,
    toSettings: toBakeSettings,
    migrations: bakeMigrations,
    open: (context, provider, settings) => new Bakes({ context, provider: provider as LocalProvider, settings, times }),
  }
  return type
}

export const localProvider: ProviderType = createLocalProvider(bakeTimes)
