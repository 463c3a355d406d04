/** Opens the plug-ins of Deck that the configuration enables. */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Keep } from '@fairlead/base/concurrency/open-parts.ts'
import type { OutsideSettings } from '@fairlead/base/outside/settings.ts'
import {
  type BuiltInPlugin,
  createDeckPlugins,
} from '@fairlead/gateway/deck-plugins/deck-plugins.ts'
import type { DeckPluginSettings } from '@fairlead/gateway/deck-plugins/settings.ts'
import type { DeckPlugins } from '@fairlead/gateway/operations/deck-plugins.ts'
import type { ConfiguredUpstreams } from '@fairlead/gateway/upstreams/settings.ts'
import type { Upstreams } from '@fairlead/gateway/upstreams/upstreams.ts'
import { providerDeclarations } from '@fairlead/providers/declarations.ts'
import type { FastifyBaseLogger } from 'fastify'

interface DeckPluginParts {
  readonly settings: DeckPluginSettings
  readonly configured: ConfiguredUpstreams
  readonly outside: OutsideSettings
  readonly upstreams: Upstreams
  readonly builtInPlugins: readonly BuiltInPlugin[] | undefined
  readonly consoleDir: URL | undefined
  readonly version: string
  readonly log: FastifyBaseLogger
  readonly keep: Keep
}

/** Lists of plug-ins are read from the start, so that the first page of Deck need not wait. */
export async function openDeckPlugins(parts: DeckPluginParts): Promise<DeckPlugins> {
  const { settings, configured, upstreams, log, keep } = parts
  const { enabled, lists, served } = settings
  const builtInPlugins = served ? (parts.builtInPlugins ?? (await findBuiltInPlugins(parts))) : []
  if (enabled.size === 0) return createDeckPlugins(builtInPlugins, undefined)
  const { RepositoryPlugins } = await import('@fairlead/gateway/deck-plugins/repository-plugins.ts')
  const { front50 } = configured.services
  const repositories = keep(
    new RepositoryPlugins({
      settings,
      downloads: {
        restrictions: parts.outside,
        lists,
        front50Urls:
          front50.kind === 'external' && front50.baseUrl !== undefined ? [front50.baseUrl] : [],
        tls: configured.okHttpClient.tls,
      },
      upstreams,
      log,
    }),
  )
  repositories.start()
  return createDeckPlugins(builtInPlugins, repositories)
}

/**
 * Plug-ins that teach Deck the providers of the embedded infrastructure; they are built with the web console. Another content is
 * another version, so that browsers load it at once.
 */
async function findBuiltInPlugins({
  consoleDir,
  version,
  upstreams,
}: DeckPluginParts): Promise<readonly BuiltInPlugin[]> {
  if (consoleDir === undefined || !upstreams.traitsOf('clouddriver').describesTypes) return []
  const sources = providerDeclarations.flatMap(({ deckPlugin }) => deckPlugin ?? [])
  const found = await Promise.all(
    sources.map(async ({ id, name, folder }) => {
      const dir = new URL(folder, consoleDir)
      const content = await readFile(new URL('index.js', dir)).catch(() => undefined)
      return (
        content && { id, name, version: `${version}-${hash('sha256', content).slice(0, 8)}`, dir }
      )
    }),
  )
  return found.filter((plugin) => plugin !== undefined)
}
