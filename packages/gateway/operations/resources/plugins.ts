/** Plugins of services and of Deck, banners, and services outside the platform that the web UI uses. */
import { hash } from 'node:crypto'
import { GatewayError } from '@fairlead/base/errors.ts'
import {
  AnyList,
  AnyObject,
  maybeText,
  model,
  nothing,
  ObjectList,
  submitted,
} from '@fairlead/base/json/schemas.ts'
import { isObject, listOf } from '@fairlead/base/json/values.ts'
import { pluginApplication } from '@fairlead/base/names/application-name.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { z } from 'zod'
import { Banner, BannerChange } from '../../banners/banners.ts'
import { callProxy } from '../../integrations/proxies.ts'
import { checkDone, readJson } from '../../upstreams/answer-form.ts'
import { get, operationsWith, post, put, remove } from '../declare.ts'
import { aboutGateway, adminOnly, demandsNothing, writesPlugins } from '../demands.ts'
import {
  DirectAnswer,
  type HttpMethod,
  type Operation,
  type OperationRequest,
} from '../operation.ts'
import type { Platform } from '../platform.ts'
import { usernameOf } from './caller.ts'
import { submitTask } from './task-polling.ts'

const PluginInfo = model('PluginInfo', { id: z.string() })
const forbidden = {
  403: `The caller lacks WRITE on the application ${pluginApplication}, or it does not exist and the caller is no administrator.`,
}
const upsert = {
  demands: writesPlugins,
  body: PluginInfo,
  handle: upsertInfo,
  ...submitted,
  errors: forbidden,
} as const

const ofService = operationsWith({ demands: aboutGateway, query: { service: maybeText } })

export const pluginOperations: Operation[] = [
  ofService.get('getAllPluginInfoUsingGET', '/plugins/info', 'List plugins', {
    description: 'What is known about plugins, of all services unless one is named.',
    forward: 'front50 /pluginInfo',
    answer: z.array(PluginInfo),
  }),
  post('persistPluginInfoUsingPOST', '/plugins/info', 'Save a plugin', upsert),
  put('persistPluginInfoUsingPUT', '/plugins/info', 'Save a plugin', upsert),
  remove('deletePluginInfoUsingDELETE', '/plugins/info/{id}', 'Delete a plugin', {
    demands: writesPlugins,
    handle: deleteInfo,
    ...submitted,
    errors: forbidden,
  }),
  ofService.get('getInstalledPluginsUsingGET', '/plugins/installed', 'List installed plugins', {
    description: 'Installed plugins by service. A service that cannot report them has none.',
    handle: listInstalled,
    answer: z.record(z.string(), ObjectList),
  }),
  post(
    'publishPluginUsingPOST',
    '/plugins/publish/{pluginId}/{pluginVersion}',
    'Publish a plugin',
    {
      demands: writesPlugins,
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
    },
  ),
]

const DeckPlugin = z.looseObject({ id: z.string(), name: z.string(), version: z.string() })

/** A day, as with Gate; a version can be published anew under its number. */
const cacheControl = 'max-age=86400, must-revalidate, private'

export const deckPluginOperations: Operation[] = [
  get(
    'getPluginManifestUsingGET',
    '/plugins/deck/plugin-manifest.json',
    'List plugins of the web UI',
    {
      demands: aboutGateway,
      description:
        'Plugins that Deck is to load: those that are enabled in `spinnaker.extensibility.deck-proxy.plugins`. Open.',
      handle: async (_request, platform) => platform.deckPlugins.manifest(),
      answer: z.array(DeckPlugin),
      errors: { 503: 'The lists of plugins have not been read yet.' },
    },
  ),
  get(
    'getPluginAssetUsingGET',
    '/plugins/deck/{pluginId}/{pluginVersion}/{asset}',
    'Get a web UI plugin file',
    {
      demands: aboutGateway,
      handle: getAsset,
      answer: z.string(),
      answerType: 'application/javascript',
      errors: {
        404: 'There is no such plugin, version or file.',
        503: 'The plugin cannot be fetched at the moment.',
      },
    },
  ),
]

async function getAsset(
  { path }: OperationRequest,
  { deckPlugins }: Platform,
): Promise<DirectAnswer> {
  const { pluginId, pluginVersion, asset } = path as {
    pluginId: string
    pluginVersion: string
    asset: string
  }
  const found = await deckPlugins.asset(pluginId, pluginVersion, asset)
  if (found === undefined) {
    throw new GatewayError(
      'NOT_FOUND',
      `There is no file ${asset} of version ${pluginVersion} of the Deck plugin ${pluginId}.`,
    )
  }
  return new DirectAnswer(200, found.bytes, {
    'content-type': found.type,
    'cache-control': cacheControl,
  })
}

async function upsertInfo(request: OperationRequest): Promise<unknown> {
  const pluginInfo = request.body as z.infer<typeof PluginInfo>
  const job = [{ type: 'upsertPluginInfo', pluginInfo, user: usernameOf(request) }]
  return submitTask(request, {
    application: pluginApplication,
    description: `Upsert plugin info ${pluginInfo.id}`,
    job,
  })
}

async function deleteInfo(request: OperationRequest): Promise<unknown> {
  const id = request.path['id'] as string
  const job = [{ type: 'deletePluginInfo', pluginInfoId: id, user: usernameOf(request) }]
  return submitTask(request, {
    application: pluginApplication,
    description: `Delete plugin info ${id}`,
    job,
  })
}

async function listInstalled(
  request: OperationRequest,
  platform: Platform,
): Promise<Record<string, unknown>> {
  const wanted = request.query['service']
  const services = platform.upstreams
    .enabledServices()
    .filter((service) => wanted === undefined || service === wanted)
  const lists = await Promise.all(
    services.map(async (service) => [service, await installedIn(request, service)] as const),
  )
  return Object.fromEntries(
    wanted === undefined || wanted === 'gate' ? [['gate', []], ...lists] : lists,
  )
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
  const form = await new Response(body && new Uint8Array(body), {
    headers: { 'content-type': contentType },
  })
    .formData()
    .catch(() => undefined)
  const file = form?.get('plugin')
  if (file instanceof File) return Buffer.from(await file.arrayBuffer())
  throw new GatewayError(
    'BAD_ARGUMENT',
    'Send multipart/form-data with the file of the plugin in the field "plugin".',
  )
}

const banner = operationsWith({ demands: adminOnly })
const onePath = '/banners/{id}'
const unknown = { 404: 'There is no banner with this id.' }
const BannerPatch = BannerChange.partial().meta({ id: 'BannerPatch' })

const one = operationsWith({ demands: adminOnly, answer: Banner, errors: unknown })

export const bannerOperations: Operation[] = [
  banner.get('getActiveBannersUsingGET', '/banners', 'List active announcements', {
    demands: aboutGateway,
    description: 'Banners that are enabled and within their time.',
    handle: (_request, { banners }) => banners.active(),
    answer: z.array(Banner),
  }),
  banner.put('saveBannerUsingPUT', '/banners', 'Save an announcement', {
    description:
      'Creates a banner, or replaces the one with the same id. Without an id it gets one.',
    body: BannerChange,
    handle: ({ body }, { banners }) => banners.save(BannerChange.parse(body)),
    answer: Banner,
  }),
  banner.remove('deleteAllBannersUsingDELETE', '/banners', 'Delete all announcements', {
    description: 'Deletes all banners. The response header `X-Deleted-Count` has their number.',
    handle: async (_request, { banners }) =>
      new DirectAnswer(204, undefined, { 'x-deleted-count': String(await banners.removeAll()) }),
    success: 204,
    answer: nothing,
  }),
  banner.get('getAllBannersUsingGET', '/banners/all', 'List all announcements', {
    description: 'All banners, the oldest first.',
    handle: (_request, { banners }) => banners.all(),
    answer: z.array(Banner),
  }),
  banner.post('refreshBannersUsingPOST', '/banners/refresh', 'Reload announcements', {
    description:
      'Has this replica read the banners now, before `global-banner.refresh-interval-ms` is over.',
    handle: async (_request, { banners }) => banners.refresh(),
    answer: nothing,
  }),
  one.get('getBannerUsingGET', onePath, 'Get an announcement', {
    handle: (request, { banners }) => banners.find(idOf(request)),
  }),
  one.post('changeBannerUsingPOST', onePath, 'Change an announcement', {
    description: 'Changes the fields that the body names; null removes one.',
    body: BannerPatch,
    handle: (request, { banners }) => banners.change(idOf(request), patchOf(request)),
  }),
  one.remove('deleteBannerUsingDELETE', onePath, 'Delete an announcement', {
    handle: (request, { banners }) => banners.remove(idOf(request)),
    success: 204,
    answer: nothing,
  }),
]

function idOf({ path }: OperationRequest): string {
  return path['id'] as string
}

/** Only what the body names: a default would change what it does not name. */
function patchOf(request: OperationRequest): Partial<BannerChange> {
  const body = request.body as Record<string, unknown>
  const { id, ...patch } = BannerPatch.parse(body)
  if (id != null && id !== idOf(request)) {
    throw new GatewayError(
      'BAD_ARGUMENT',
      `The body is banner "${id}", the path names "${idOf(request)}".`,
    )
  }
  return Object.fromEntries(Object.entries(patch).filter(([name]) => Object.hasOwn(body, name)))
}

const notConfigured = { 404: 'It is not configured.' } as const
const offeredToAll = demandsNothing('the configuration offers the service to all users')

const proxyPaths = ['/proxies/{proxy}/**', '/proxies/{proxy}'] as const
const proxyMethods = ['GET', 'POST', 'PUT', 'DELETE'] as const

/** What comes from elsewhere must not run with the rights of this origin when a browser opens it. */
const unknownContent = { 'content-security-policy': 'sandbox' } as const

function forwarded(method: HttpMethod, path: string): Operation {
  return {
    id: `anyUsing${method}${path.endsWith('}') ? '1' : ''}`,
    method,
    path,
    demands: offeredToAll,
    summary: 'Forward to an outside service',
    description:
      'Forwards to a service that `proxies` lists, without identity and cookies of the caller.',
    ...(method !== 'GET' && { body: { schema: z.unknown(), required: false, raw: true } }),
    handle: forward,
    answer: z.unknown(),
    errors: {
      400: 'No proxy has this id.',
      405: 'The proxy forwards other methods only.',
      502: 'The service failed or is not reached.',
    },
  }
}

const tool = operationsWith({ demands: aboutGateway, errors: notConfigured })

export const outsideOperations: Operation[] = [
  get('proxiesUsingGET', '/proxies', 'List proxies', {
    demands: aboutGateway,
    description: 'Outside services to which `/proxies/{id}` forwards.',
    handle: async (_request, { integrations }) =>
      integrations.proxies.map(({ id, uri }) => ({ id, uri })),
    answer: z.array(z.strictObject({ id: z.string(), uri: z.string() })),
  }),
  ...proxyPaths.flatMap((path) => proxyMethods.map((method) => forwarded(method, path))),
  tool.get('getChannelsUsingGET', '/slack/channels', 'List Slack channels', {
    description: 'Public channels of Slack, kept for `slack.channel-refresh-interval-millis`.',
    handle: async (_request, { integrations }) => integrations.slackChannels(),
    answer: AnyList,
  }),
  tool.get('getServicesUsingGET', '/pagerDuty/services', 'List PagerDuty services', {
    description: 'Services of PagerDuty, kept for five minutes.',
    handle: async (_request, { integrations }) => integrations.pagerDutyServices(),
    answer: ObjectList,
  }),
  tool.get('getOnCallsUsingGET', '/pagerDuty/oncalls', 'List people on call', {
    description: 'People on call at PagerDuty by escalation policy, kept for five minutes.',
    handle: async (_request, { integrations }) => integrations.pagerDutyOnCalls(),
    answer: z.record(z.string(), ObjectList),
  }),
  gremlinTemplates('command', 'listCommandTemplatesUsingPOST'),
  gremlinTemplates('target', 'listTargetTemplatesUsingPOST'),
]

function gremlinTemplates(kind: 'command' | 'target', id: string): Operation {
  return tool.post(
    id,
    `/integrations/gremlin/templates/${kind}`,
    `List Gremlin ${kind} templates`,
    {
      description: `The ${kind} templates of Gremlin for the \`apiKey\` in the body.`,
      body: AnyObject,
      handle: async ({ body }, { integrations }) =>
        integrations.gremlinTemplates(kind, String((isObject(body) && body['apiKey']) || '')),
      answer: AnyList,
    },
  )
}

async function forward(
  request: OperationRequest,
  { integrations }: Platform,
): Promise<DirectAnswer> {
  const { path, search, headers } = request
  const answer = await callProxy(integrations.proxies, {
    id: path['proxy'] ?? '',
    method: request.method,
    rest: path['rest'] ?? '',
    query: search,
    contentType: headers['content-type'],
    body: request.body as Buffer | undefined,
  })
  const { status, bytes, url } = answer
  if (status < 200 || status > 599)
    throw new GatewayError('UPSTREAM_UNREADABLE', 'The service answered with an unknown status.')
  return new DirectAnswer(status >= 500 ? 502 : status, bytes, {
    'content-type': answer.headers['content-type'] ?? 'text/plain',
    'x-proxy-status-code': String(status),
    'x-proxy-url': url.href,
    ...unknownContent,
  })
}
