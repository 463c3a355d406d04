/** Plug-ins of Deck: what it is to load, and their files. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { get } from '../declare.ts'
import { aboutGateway } from '../demands.ts'
import { DirectAnswer, type Operation, type OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

const DeckPlugin = z.looseObject({ id: z.string(), name: z.string(), version: z.string() })

/** A day, as with Gate; a version can be published anew under its number. */
const cacheControl = 'max-age=86400, must-revalidate, private'

export const deckPluginOperations: Operation[] = [
  get('getPluginManifestUsingGET', '/plugins/deck/plugin-manifest.json', {
    demands: aboutGateway,
    summary: 'List plugins of the web UI',
    description: 'Plugins that Deck is to load: those that are enabled in `spinnaker.extensibility.deck-proxy.plugins`. Open.',
    handle: async (_request, platform) => platform.deckPlugins.manifest(),
    answer: z.array(DeckPlugin),
    errors: { 503: 'The lists of plugins have not been read yet.' },
  }),
  get('getPluginAssetUsingGET', '/plugins/deck/{pluginId}/{pluginVersion}/{asset}', {
    demands: aboutGateway,
    summary: 'Get a web UI plugin file',
    description: 'A file of a plugin of Deck. Open.',
    handle: getAsset,
    answer: z.string(),
    answerType: 'application/javascript',
    errors: { 404: 'There is no such plugin, version or file.', 503: 'The plugin cannot be fetched at the moment.' },
  }),
]

async function getAsset({ path }: OperationRequest, { deckPlugins }: Platform): Promise<DirectAnswer> {
  const { pluginId, pluginVersion, asset } = path as { pluginId: string; pluginVersion: string; asset: string }
  const found = await deckPlugins.asset(pluginId, pluginVersion, asset)
  if (found === undefined) {
    throw new GatewayError('NOT_FOUND', `There is no file ${asset} of version ${pluginVersion} of the Deck plugin ${pluginId}.`)
  }
  return new DirectAnswer(200, found.bytes, { 'content-type': found.type, 'cache-control': cacheControl })
}
