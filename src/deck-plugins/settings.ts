/** Settings of the plug-ins of Deck. */
import { z } from 'zod'
import { isObject, isTrue, objectOf } from '../json/values.ts'
import { milliseconds, on, type SettingsReport, withoutSlash } from '../settings/setting.ts'

const prefix = 'spinnaker.extensibility'

export const DeckPluginKeys = z.strictObject({
  [`${prefix}.deck-proxy.enabled`]: on.describe('Serves plugins to Deck, below `/plugins/deck`.'),
  [`${prefix}.deck-proxy.plugins`]: z
    .unknown()
    .optional()
    .meta({
      type: 'map',
      description:
        'Plugins of repositories by their id, each with `enabled: true` and perhaps a `version`; default: the highest version whose ' +
        '`requires` names deck.',
    }),
  [`${prefix}.deck-proxy.cache-refresh-interval-ms`]: milliseconds
    .min(1000)
    .default(60_000)
    .describe('Milliseconds between two reads of the lists of plugins.'),
  [`${prefix}.repositories`]: z
    .unknown()
    .optional()
    .meta({
      type: 'map',
      description:
        'Lists of plugins by name, each with its `url`: a file in JSON, or a folder that holds `plugins.json`. `front50` needs no ' +
        'address and is used unless `front50.enabled` is `false`.',
    }),
})
export type DeckPluginKeys = z.infer<typeof DeckPluginKeys>

export interface DeckPluginSettings {
  /** By id; undefined as version: the latest. Empty where Deck loads none. */
  readonly enabled: ReadonlyMap<string, string | undefined>
  /** Addresses of lists, besides that of front50. */
  readonly lists: readonly string[]
  readonly asksFront50: boolean
  readonly refreshMs: number
  /** Whether built-in plug-ins are served. */
  readonly served: boolean
}

export function toDeckPluginSettings(keys: DeckPluginKeys, report: SettingsReport): DeckPluginSettings {
  const served = keys[`${prefix}.deck-proxy.enabled`] as boolean
  const repositories = Object.entries(objectOf(keys[`${prefix}.repositories`])).map(([name, value]) => ({
    name,
    ...objectOf(value),
  }))
  const lists = repositories.flatMap(({ name, ...repository }) => {
    const { url, enabled } = repository as { url?: unknown; enabled?: unknown }
    if (url === undefined || url === '' || !isTrue(enabled ?? true)) return []
    const address = toListAddress(String(url))
    if (address !== undefined) return [address]
    report.problem(
      `${prefix}.repositories`,
      `the url of ${name} must be an absolute address such as https://example/plugins.json`,
    )
    return []
  })
  const front50 = repositories.find(({ name }) => name === 'front50') as { enabled?: unknown } | undefined
  return {
    enabled: served ? new Map(findPlugins(objectOf(keys[`${prefix}.deck-proxy.plugins`]), [])) : new Map(),
    lists,
    asksFront50: isTrue(front50?.enabled ?? true),
    refreshMs: keys[`${prefix}.deck-proxy.cache-refresh-interval-ms`] as number,
    served,
  }
}

/** Ids have dots, which may have become levels: `Acme.Clock: {enabled: true}` is `Acme: {Clock: {enabled: true}}`. */
function* findPlugins(map: Record<string, unknown>, above: readonly string[]): Generator<[string, string | undefined]> {
  for (const [name, value] of Object.entries(map)) {
    if (!isObject(value)) continue
    const { enabled, version } = value
    const path = [...above, name]
    if (enabled === undefined) yield* findPlugins(value, path)
    else if (isTrue(enabled)) yield [path.join('.'), version === undefined ? undefined : String(version)]
  }
}

function toListAddress(url: string): string | undefined {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return undefined
  return /\.json(?:\?|$)/.test(url) ? url : `${withoutSlash(url)}/plugins.json`
}
