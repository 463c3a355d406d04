/** Settings of the plug-ins of Deck. */

import { shape } from '@fairlead/base/json/shape.ts'
import { isObject, isTrue, objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import {
  milliseconds,
  on,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  withoutSlash,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

const prefix = 'spinnaker.extensibility'
const map = z.unknown().transform(objectOf).meta({ type: 'map' })

export const deckPluginKeys = settings({
  served: setting(`${prefix}.deck-proxy.enabled`, on).describe(
    'Serves plugins to Deck, below `/plugins/deck`.',
  ),
  plugins: setting(`${prefix}.deck-proxy.plugins`, map).describe(
    'Plugins of repositories by their id, each with `enabled: true` and perhaps a `version`; default: the highest version whose ' +
      '`requires` names deck.',
  ),
  refreshMs: setting(
    `${prefix}.deck-proxy.cache-refresh-interval-ms`,
    milliseconds.min(1000).default(60_000),
  ).describe('Milliseconds between two reads of the lists of plugins.'),
  repositories: setting(`${prefix}.repositories`, map).describe(
    'Lists of plugins by name, each with its `url`: a file in JSON, or a folder that holds `plugins.json`. `front50` needs no ' +
      'address and is used unless `front50.enabled` is `false`.',
  ),
})

const toRepository = shape({ url: scalarOf, enabled: (value) => isTrue(value ?? true) })

export type DeckPluginSettings = ReturnType<typeof toDeckPluginSettings>

export function toDeckPluginSettings(
  { served, plugins, refreshMs, repositories }: SettingsOf<typeof deckPluginKeys>,
  report: SettingsReport,
) {
  const lists = Object.entries(repositories).flatMap(([name, repository]) => {
    const { url, enabled } = toRepository(repository)
    if (url === undefined || !enabled) return []
    const address = toListAddress(url)
    if (address !== undefined) return [address]
    report.problem(
      `${prefix}.repositories`,
      `the url of ${name} must be an absolute address such as https://example/plugins.json`,
    )
    return []
  })
  return {
    /** By id; undefined as version: the latest. Empty where Deck loads none. */
    enabled: new Map(served ? findPlugins(plugins, []) : []),
    lists,
    asksFront50: toRepository(repositories['front50']).enabled,
    refreshMs,
    served,
  }
}

/** Ids have dots, which may have become levels: `Acme.Clock: {enabled: true}` is `Acme: {Clock: {enabled: true}}`. */
function* findPlugins(
  map: Record<string, unknown>,
  above: readonly string[],
): Generator<[string, string | undefined]> {
  for (const [name, value] of Object.entries(map)) {
    if (!isObject(value)) continue
    const { enabled, version } = value
    const path = [...above, name]
    if (enabled === undefined) yield* findPlugins(value, path)
    else if (isTrue(enabled))
      yield [path.join('.'), version === undefined ? undefined : String(version)]
  }
}

function toListAddress(url: string): string | undefined {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return undefined
  return /\.json(?:\?|$)/.test(url) ? url : `${withoutSlash(url)}/plugins.json`
}
