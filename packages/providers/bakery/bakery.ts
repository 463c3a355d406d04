/** The embedded bakery: image bakes of the providers that bake, and bakes of manifests. */

import { fieldOf, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { describeRefusal, standalone } from '@fairlead/base/settings/standalone.ts'
import type { Backend, BackendContext, OpenBackend } from '@fairlead/ports/backend.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { trustedCallerOf, userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, pathValues, queryValue } from '@fairlead/ports/requests/request-values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { providerTypes } from '../all.ts'
import { type Baker, type BakeView, migrationsOf, type ProviderType } from '../provider-type.ts'
import { ManifestBakes } from './manifests/bakes.ts'
import type { BakerySettings } from './settings.ts'

export const bakeryBackend: Backend = createBakeryBackend(providerTypes)

export function createBakeryBackend(types: readonly ProviderType[]): Backend {
  return {
    service: 'rosco',
    ...migrationsOf(types, [], ({ bakery }) => bakery?.migrations ?? []),
    open: (context) => openBakery(context, openBakers(context, types)),
  }
}

/** By provider. Images are deployed by the embedded infrastructure only, so without it nothing is baked. */
type Bakers = ReadonlyMap<string, Baker>

function openBakers(context: BackendContext, types: readonly ProviderType[]): Bakers {
  const { bakery } = context.settings
  const bakers = new Map<string, Baker>()
  for (const { id, bakery: type } of types) {
    const [settings, provider] = [bakery?.providers[id], context.providerOf(id)]
    if (type !== undefined && settings !== undefined && provider !== undefined)
      bakers.set(id, type.open(context, provider, settings))
  }
  return bakers
}

function openBakery(context: BackendContext, bakers: Bakers): OpenBackend {
  const { bakery } = context.settings
  const manifests = new ManifestBakes(context)
  return {
    routes(app) {
      mountOptions(app, bakery?.allowsCommands === true ? bakers : new Map())
      mountBakes(app, bakery, bakers)
      mountLogs(app, context, bakers)
      app.post('/api/v2/manifest/bake/:type', (request) =>
        manifests.bake(pathValue(request, 'type'), request.body, trustedCallerOf(request).identity),
      )
      app.get('/installedPlugins', () => [])
    },
    start: () => bakers.values().forEach((baker) => void baker.start()),
    async close() {
      manifests.close()
      await Promise.all(bakers.values().map((baker) => baker.close()))
    },
  }
}

/** These 404s have a body of their own (docs/contracts/bakery.md#options). */
function mountOptions(app: FastifyInstance, bakers: Bakers): void {
  const optionsOf = (cloudProvider: string) => {
    const baseImages = bakers.get(cloudProvider)?.baseImages ?? []
    return baseImages.length === 0 ? [] : [{ cloudProvider, baseImages }]
  }
  app.get('/bakeOptions', () => [...bakers.keys()].flatMap(optionsOf))
  app.get('/bakeOptions/:provider', (request, reply) => {
    const provider = pathValue(request, 'provider')
    return (
      optionsOf(provider)[0] ?? optionsMissing(reply, 'bake.options.not.found', `Bake options for ${provider} are not enabled.`)
    )
  })
  app.get('/bakeOptions/:provider/baseImages/:image', (request, reply) => {
    const { provider, image: id } = pathValues(request, 'provider', 'image')
    const known = bakers.get(provider)?.baseImages ?? []
    const ids = known.map((image) => image['id']).join(', ')
    return (
      known.find((image) => image['id'] === id) ??
      optionsMissing(
        reply,
        'images.not.found',
        `Base image ${id} is not known for ${provider}; there ${ids === '' ? 'are none' : `are ${ids}`}.`,
      )
    )
  })
}

function optionsMissing(reply: FastifyReply, error: string, message: string): FastifyReply {
  return reply.code(404).send({ error, status: 'NOT_FOUND', messages: [message] })
}

interface FoundBake {
  readonly bake: BakeView
  readonly baker: Baker
  readonly provider: string
}

function findBake(bakers: Bakers, id: string): FoundBake | undefined {
  for (const [provider, baker] of bakers) {
    const bake = baker.get(id)
    if (bake !== undefined) return { bake, baker, provider }
  }
  return undefined
}

/** Unknown bakes are 400 except for logs: an orchestrator reads 404 as "keep polling" (docs/contracts/bakery.md#bakes). */
function mountBakes(app: FastifyInstance, settings: BakerySettings | undefined, bakers: Bakers): void {
  const require = (request: FastifyRequest, what: string): FoundBake => {
    const found = findBake(bakers, pathValue(request, 'id'))
    if (found === undefined) throw new PortError(400, `${what} ${pathValue(request, 'id')}.`)
    return found
  }

  app.post('/api/v1/:region/bake', async (request) => {
    const bake = await checkProvider(request, settings, bakers).request({
      region: pathValue(request, 'region'),
      body: request.body,
      user: userOf(request),
      execution: textOf(trustedCallerOf(request).identity['x-spinnaker-execution-id']),
      application: textOf(trustedCallerOf(request).identity['x-spinnaker-application']),
      isRebake: ['1', 'true'].includes(queryValue(request, 'rebake') ?? ''),
    })
    return toStatus(bake)
  })
  app.get('/api/v1/:region/status/:id', (request) => toStatus(require(request, 'There is no bake with status id').bake))
  app.get('/api/v1/:region/bake/:id', (request) => {
    const found = require(request, 'There are no details of a bake with id')
    const { bake } = found
    if (bake.state === 'COMPLETED') return toDetails(found, pathValue(request, 'region'))
    throw new PortError(400, `There are no details of a bake with id ${bake.id}: it ${describeState(bake)}.`)
  })
  app.get('/api/v1/:region/cancel/:id', async (request, reply) => {
    const { bake, baker } = require(request, 'There is no incomplete bake with status id')
    await baker.cancel(bake.id)
    return reply.type('text/plain').send(`Cancelled the bake with status id ${bake.id}.`)
  })
}

/** Logs show the sources and commands of an account: they need READ on it. */
function mountLogs(app: FastifyInstance, context: BackendContext, bakers: Bakers): void {
  app.get('/api/v1/:region/logs/:id', async (request): Promise<JsonObject> => {
    const id = pathValue(request, 'id')
    const found = findBake(bakers, id)
    if (found === undefined) throw new PortError(404, `There are no logs of a bake with status id ${id}.`)
    const { bake, baker } = found
    const access = await requireAccess(context, userOf(request))
    if (!access.mayOnAccount(bake.account, 'READ')) throw new PortError(403, `Access denied to account ${bake.account}.`)
    const logsContent = await baker.log(bake.id)
    if (logsContent === undefined || logsContent === '') throw new PortError(404, `The bake ${bake.id} has logged nothing yet.`)
    return { logsContent }
  })
}

/** @throws {PortError} 400 naming the provider, or the setting that enables it */
function checkProvider(request: FastifyRequest, settings: BakerySettings | undefined, bakers: Bakers): Baker {
  const byDefault = settings?.defaultProvider ?? standalone.provider
  const wanted = textOf(fieldOf(request.body, 'cloud_provider_type')) ?? byDefault
  const baking = providerTypes.filter(({ bakery }) => bakery !== undefined).map(({ id }) => id)
  if (!baking.includes(wanted)) {
    throw new PortError(
      400,
      `Images for the cloud provider "${wanted}" cannot be baked here: the embedded bakery knows "${baking.join('", "')}" only. ` +
        'Connect a bakery (services.rosco.baseUrl) that has a builder for it.',
    )
  }
  const baker = bakers.get(wanted)
  if (baker === undefined) {
    throw new PortError(
      400,
      `Images for "${wanted}" need the embedded infrastructure: no services.clouddriver.baseUrl, and ${wanted}.enabled.`,
    )
  }
  if (settings?.allowsCommands !== true) throw new PortError(400, describeRefusal('The bake'))
  return baker
}

/** @see docs/contracts/bakery.md#bakes */
function toStatus({ id, state }: BakeView): JsonObject {
  const result = state === 'RUNNING' ? null : state === 'COMPLETED' ? 'SUCCESS' : 'FAILURE'
  return { id, state, result, resource_id: id }
}

function describeState({ state }: BakeView): string {
  return state === 'RUNNING' ? 'still runs' : 'failed'
}

function toDetails({ bake, provider }: FoundBake, region: string): JsonObject {
  const { id, image, imageName, request } = bake
  const { base_ami, build_info_url = null, build_number = null } = request
  return {
    id,
    ami: image,
    image_name: imageName,
    ...(base_ami !== undefined && { base_ami }),
    artifact: {
      type: `${provider}/image`,
      name: imageName,
      version: image?.slice(image.lastIndexOf(':') + 1),
      location: region,
      reference: image,
      metadata: { build_info_url, build_number },
      uuid: id,
    },
  }
}
