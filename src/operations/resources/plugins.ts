/** Plugins of the services: what is known about them, which are installed, and publishing one. Plug-ins of Deck. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { AnyObject, nothing, ObjectList, submitted, textModel } from '../../json/schemas.ts'
import { listOf } from '../../json/values.ts'
import { pluginApplication } from '../../names/application-name.ts'
import { pathTo } from '../../net/encode-path.ts'
import type { ServiceName } from '../../services/services.ts'
import { checkDone, readJson } from '../../upstreams/read-answer.ts'
import { get, operationsWith, post, remove } from '../declare.ts'
import { aboutGateway, writesPlugins } from '../demands.ts'
import { DirectAnswer, type Operation, type OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { usernameOf } from './caller.ts'
import { submitTask } from './task-polling.ts'

const PluginInfo = z.looseObject({ id: z.string() }).meta({ id: 'PluginInfo' })
const forbidden = {
  403: `The caller lacks WRITE on the application ${pluginApplication}, or it does not exist and the caller is no administrator.`,
}
const upsert = {
  path: '/plugins/info',
  demands: writesPlugins,
  summary: 'Save a plugin',
  description: 'Submits what is known about a plugin.',
  body: { schema: PluginInfo, required: true },
  handle: upsertInfo,
  ...submitted,
  errors: forbidden,
} as const

const ofService = operationsWith({ demands: aboutGateway, query: { service: textModel.optional() } })

export const pluginOperations: Operation[] = [
  ofService.get('getAllPluginInfoUsingGET', '/plugins/info', {
    summary: 'List plugins',
    description: 'What is known about plugins, of all services unless one is named.',
    forward: { service: 'front50', path: '/pluginInfo' },
    answer: z.array(PluginInfo),
  }),
  { ...upsert, id: 'persistPluginInfoUsingPOST', method: 'POST' },
  { ...upsert, id: 'persistPluginInfoUsingPUT', method: 'PUT' },
  remove('deletePluginInfoUsingDELETE', '/plugins/info/{id}', {
    demands: writesPlugins,
    summary: 'Delete a plugin',
    description: 'Submits the deletion of what is known about a plugin.',
    handle: deleteInfo,
    ...submitted,
    errors: forbidden,
  }),
  ofService.get('getInstalledPluginsUsingGET', '/plugins/installed', {
    summary: 'List installed plugins',
    description: 'Installed plugins by service. A service that cannot report them has none.',
    handle: listInstalled,
    answer: z.record(z.string(), ObjectList),
  }),
  post('publishPluginUsingPOST', '/plugins/publish/{pluginId}/{pluginVersion}', {
    demands: writesPlugins,
    summary: 'Publish a plugin',
    description: 'Stores the file of a plugin, sent as the form field `plugin`.',
    body: {
      schema: AnyObject.describe('The archive of the plugin.'),
      required: true,
      raw: true,
      mediaType: 'multipart/form-data',
    },
    handle: publish,
    answer: nothing,
    errors: {
      400: 'The form has no file named plugin.',
      ...forbidden,
    },
  }),
]

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

async function upsertInfo(request: OperationRequest): Promise<unknown> {
  const pluginInfo = request.body as z.infer<typeof PluginInfo>
  const job = [{ type: 'upsertPluginInfo', pluginInfo, user: usernameOf(request) }]
  return submitTask(request, { application: pluginApplication, description: `Upsert plugin info ${pluginInfo.id}`, job })
}

async function deleteInfo(request: OperationRequest): Promise<unknown> {
  const id = request.path['id'] as string
  const job = [{ type: 'deletePluginInfo', pluginInfoId: id, user: usernameOf(request) }]
  return submitTask(request, { application: pluginApplication, description: `Delete plugin info ${id}`, job })
}

async function listInstalled(request: OperationRequest, platform: Platform): Promise<Record<string, unknown>> {
  const wanted = request.query['service']
  const services = platform.upstreams.enabledServices().filter((service) => wanted === undefined || service === wanted)
  const lists = await Promise.all(services.map(async (service) => [service, await installedIn(request, service)] as const))
  return Object.fromEntries(wanted === undefined || wanted === 'gate' ? [['gate', []], ...lists] : lists)
}

async function installedIn(request: OperationRequest, service: ServiceName): Promise<unknown> {
  try {
    return listOf(readJson(await request.call(service, { path: '/installedPlugins' }), service))
  } catch {
    // One service that is down must not hide the plugins of the others; its call is in the log.
    return []
  }
}

/** The store checks the file against its hash, which the form does not carry. */
async function publish(request: OperationRequest): Promise<void> {
  const { pluginId, pluginVersion } = request.path as { pluginId: string; pluginVersion: string }
  const contentType = String(request.headers['content-type'] ?? '')
  const sha512sum = hash('sha512', await readFile(request.body as Buffer | undefined, contentType))
  const answer = await request.call('front50', {
    method: 'POST',
    path: pathTo`/pluginBinaries/${pluginId}/${pluginVersion}`,
    query: { sha512sum },
    rawBody: request.body as Buffer,
    headers: { 'content-type': contentType },
  })
  checkDone(answer, 'front50')
}

async function readFile(body: Buffer | undefined, contentType: string): Promise<Buffer> {
  const form = await new Response(body && new Uint8Array(body), { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => undefined)
  const file = form?.get('plugin')
  if (file instanceof File) return Buffer.from(await file.arrayBuffer())
  throw new GatewayError('BAD_ARGUMENT', 'Send multipart/form-data with the file of the plugin in the field "plugin".')
}
