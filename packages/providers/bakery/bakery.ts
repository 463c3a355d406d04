/** The embedded bakery: image bakes of the providers that bake, and bakes of manifests. */

import { type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ownNames } from '@fairlead/base/services/services.ts'
import { describeRefusal, standalone } from '@fairlead/base/settings/standalone.ts'
import type { Backend, BackendContext, OpenBackend } from '@fairlead/ports/backend.ts'
import { type Bakery, type BakeStatus, toBakeDetails } from '@fairlead/ports/bakery.ts'
import { anonymous } from '@fairlead/ports/caller.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
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
    const [settings, provider] = [bakery?.providers[id], context.ports.infrastructure.provider(id)]
    if (type !== undefined && settings !== undefined && provider !== undefined)
      bakers.set(id, type.open(context, provider, settings))
  }
  return bakers
}

function openBakery(context: BackendContext, bakers: Bakers): OpenBackend {
  const manifests = new ManifestBakes(context)
  const bakery = createBakery(context, bakers, manifests)
  return {
    ports: { bakery },
    routes(app) {
      mountOptions(app, bakery, offeredBy(context, bakers))
      mountBakes(app, bakery, bakers)
      app.post('/api/v2/manifest/bake/:type', (request) =>
        manifests.bake(pathValue(request, 'type'), request.body, trustedCallerOf(request)),
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

function offeredBy({ settings }: BackendContext, bakers: Bakers): Bakers {
  return settings.bakery?.allowsCommands === true ? bakers : new Map()
}

/** Unknown bakes are 400 except for logs: an orchestrator reads 404 as "keep polling" (docs/contracts/bakery.md#bakes). */
function createBakery(context: BackendContext, bakers: Bakers, manifests: ManifestBakes): Bakery {
  return {
    name: ownNames.rosco,
    takesReferences: true,
    async baseImage({ provider, id }) {
      const known = offeredBy(context, bakers).get(provider)?.baseImages ?? []
      const image = known.find((each) => each['id'] === id)
      if (image !== undefined) return image
      const ids = known.map((each) => each['id']).join(', ')
      const offered = `there ${ids === '' ? 'are none' : `are ${ids}`}`
      throw new PortError(404, `Base image ${id} is not known for ${provider}; ${offered}.`)
    },
    async start(body, { region, isRebake }, { user, identity }) {
      const bake = await checkProvider(body, context.settings.bakery, bakers).request({
        region,
        body,
        user: user || anonymous,
        execution: textOf(identity['x-spinnaker-execution-id']),
        application: textOf(identity['x-spinnaker-application']),
        isRebake,
      })
      return toStatus(bake)
    },
    status: async ({ id }) =>
      toStatus(requireBake(bakers, id, 'There is no bake with status id').bake),
    details: async ({ region, id }) => toBakeDetails(detailsOf(bakers, id, region)),
    async cancel({ id }) {
      const { bake, baker } = requireBake(bakers, id, 'There is no incomplete bake with status id')
      await baker.cancel(bake.id)
    },
    // Logs show the sources and commands of an account: they need READ on it.
    async log({ id }, { user }) {
      const found = findBake(bakers, id)
      if (found === undefined)
        throw new PortError(404, `There are no logs of a bake with status id ${id}.`)
      const { bake, baker } = found
      const access = await requireAccess(context, user || anonymous)
      if (!access.mayOnAccount(bake.account, 'READ'))
        throw new PortError(403, `Access denied to account ${bake.account}.`)
      const log = await baker.log(bake.id)
      if (log === undefined || log === '')
        throw new PortError(404, `The bake ${bake.id} has logged nothing yet.`)
      return log
    },
    bakeManifest: (request, renderer, as) => manifests.bake(renderer, request, as),
  }
}

/** These 404s have a body of their own (docs/contracts/bakery.md#options). */
function mountOptions(app: FastifyInstance, bakery: Bakery, bakers: Bakers): void {
  const missing = (reply: FastifyReply, error: string, message: string) =>
    reply.code(404).send({ error, status: 'NOT_FOUND', messages: [message] })
  const optionsOf = (cloudProvider: string) => {
    const baseImages = bakers.get(cloudProvider)?.baseImages ?? []
    return baseImages.length === 0 ? [] : [{ cloudProvider, baseImages }]
  }
  app.get('/bakeOptions', () => [...bakers.keys()].flatMap(optionsOf))
  app.get('/bakeOptions/:provider', (request, reply) => {
    const provider = pathValue(request, 'provider')
    return (
      optionsOf(provider)[0] ??
      missing(reply, 'bake.options.not.found', `Bake options for ${provider} are not enabled.`)
    )
  })
  app.get('/bakeOptions/:provider/baseImages/:image', (request, reply) => {
    const { provider, image: id } = pathValues(request, 'provider', 'image')
    return bakery
      .baseImage({ provider, id }, trustedCallerOf(request))
      .catch((error: Error) => missing(reply, 'images.not.found', error.message))
  })
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

function mountBakes(app: FastifyInstance, bakery: Bakery, bakers: Bakers): void {
  const placeOf = (request: FastifyRequest) => pathValues(request, 'region', 'id')
  app.post('/api/v1/:region/bake', (request) => {
    const isRebake = ['1', 'true'].includes(queryValue(request, 'rebake') ?? '')
    return bakery.start(
      objectOf(request.body),
      { region: pathValue(request, 'region'), isRebake },
      trustedCallerOf(request),
    )
  })
  app.get('/api/v1/:region/status/:id', (request) =>
    bakery.status(placeOf(request), trustedCallerOf(request)),
  )
  app.get('/api/v1/:region/bake/:id', (request) =>
    detailsOf(bakers, pathValue(request, 'id'), pathValue(request, 'region')),
  )
  app.get('/api/v1/:region/cancel/:id', async (request, reply) => {
    const place = placeOf(request)
    await bakery.cancel(place, trustedCallerOf(request))
    return reply.type('text/plain').send(`Cancelled the bake with status id ${place.id}.`)
  })
  app.get('/api/v1/:region/logs/:id', async (request) => ({
    logsContent: await bakery.log(placeOf(request), trustedCallerOf(request)),
  }))
}

/** @throws {PortError} 400 */
function requireBake(bakers: Bakers, id: string, what: string): FoundBake {
  const found = findBake(bakers, id)
  if (found === undefined) throw new PortError(400, `${what} ${id}.`)
  return found
}

/** @throws {PortError} 400 naming the provider, or the setting that enables it */
function checkProvider(
  body: JsonObject,
  settings: BakerySettings | undefined,
  bakers: Bakers,
): Baker {
  const byDefault = settings?.defaultProvider ?? standalone.provider
  const wanted = textOf(body['cloud_provider_type']) ?? byDefault
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
function toStatus({ id, state }: BakeView): BakeStatus {
  const result = state === 'RUNNING' ? null : state === 'COMPLETED' ? 'SUCCESS' : 'FAILURE'
  return { id, state, result, resource_id: id }
}

function describeState({ state }: BakeView): string {
  return state === 'RUNNING' ? 'still runs' : 'failed'
}

/** @throws {PortError} 400 unless it is complete */
function detailsOf(bakers: Bakers, wanted: string, region: string): JsonObject {
  const { bake, provider } = requireBake(bakers, wanted, 'There are no details of a bake with id')
  if (bake.state !== 'COMPLETED')
    throw new PortError(
      400,
      `There are no details of a bake with id ${bake.id}: it ${describeState(bake)}.`,
    )
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
