/** The embedded bakery: image bakes of the provider `local`, as the bakery contract has them. It has no manifest renderer. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fieldOf, type JsonObject, textOf, textsOf } from '../../json/values.ts'
import { requireAccess } from '../access.ts'
import { type Backend, type BackendContext, BackendError, callerOf, type OpenBackend } from '../backend.ts'
import { pathValue, queryValue } from '../request-values.ts'
import { type Bake, bakeMigrations } from './bake-store.ts'
import { Bakes, type BakeTimes, bakeTimes } from './bakes.ts'
import { describeRefusal } from './settings.ts'
import type { BakerySettings, BakeTemplate } from './template.ts'

const provider = 'local'

/** Field of the request that must hold the input, by manifest type. */
const manifestInputs: Record<string, string> = {
  HELM2: 'inputArtifacts',
  HELM3: 'inputArtifacts',
  HELMFILE: 'inputArtifacts',
  KUSTOMIZE: 'inputArtifact',
  KUSTOMIZE4: 'inputArtifact',
  KUSTOMIZE5: 'inputArtifact',
  CF: 'manifestTemplate',
}

export const bakeryBackend: Backend = createBakeryBackend()

/** Images are deployed by the embedded infrastructure only, so without it there are no bakes. */
export function createBakeryBackend(times: BakeTimes = bakeTimes): Backend {
  return {
    service: 'rosco',
    migrations: bakeMigrations,
    open(context) {
      const { bakery, infrastructure } = context.settings
      const local = context.isEmbedded('clouddriver') ? infrastructure?.local : undefined
      const bakes = bakery && local && new Bakes({ context, settings: bakery, local, times })
      return openBakery(context, bakes)
    },
  }
}

function openBakery(context: BackendContext, bakes: Bakes | undefined): OpenBackend {
  const { bakery } = context.settings
  const templates = bakes !== undefined && bakery?.allowsCommands === true ? bakery.templates : []
  return {
    routes(app) {
      mountOptions(app, templates)
      mountBakes(app, bakery, bakes)
      mountLogs(app, context, bakes)
      app.post('/api/v2/manifest/bake/:type', refuseManifest)
      app.get('/installedPlugins', () => [])
    },
    start: () => bakes?.start(),
    close: () => bakes?.close(),
  }
}

/** Templates are base images. These 404s have a body of their own (docs/contracts/bakery.md#options). */
function mountOptions(app: FastifyInstance, templates: readonly BakeTemplate[]): void {
  const baseImages = templates.map(toBaseImage)
  app.get('/bakeOptions', () => (baseImages.length === 0 ? [] : [{ cloudProvider: provider, baseImages }]))
  app.get('/bakeOptions/:provider', (request, reply) => {
    const asked = pathValue(request, 'provider')
    if (asked === provider && baseImages.length > 0) return { cloudProvider: provider, baseImages }
    return optionsMissing(reply, 'bake.options.not.found', `Bake options for ${asked} are not enabled.`)
  })
  app.get('/bakeOptions/:provider/baseImages/:image', (request, reply) => {
    const [asked, id] = [pathValue(request, 'provider'), pathValue(request, 'image')]
    const known = asked === provider ? baseImages : []
    const ids = known.map((image) => image['id']).join(', ')
    return (
      known.find((image) => image['id'] === id) ??
      optionsMissing(
        reply,
        'images.not.found',
        `Base image ${id} is not known for ${asked}; there ${ids === '' ? 'are none' : `are ${ids}`}.`,
      )
    )
  })
}

function toBaseImage({ id, description, details }: BakeTemplate): JsonObject {
  const shortDescription = description || id
  return { id, shortDescription, detailedDescription: details || shortDescription, packageType: 'DEB', osType: 'linux' }
}

function optionsMissing(reply: FastifyReply, error: string, message: string): FastifyReply {
  return reply.code(404).send({ error, status: 'NOT_FOUND', messages: [message] })
}

/** Unknown bakes are 400 except for logs: an orchestrator reads 404 as "keep polling" (docs/contracts/bakery.md#bakes). */
function mountBakes(app: FastifyInstance, settings: BakerySettings | undefined, bakes: Bakes | undefined): void {
  const bakesFor = (request: FastifyRequest): Bakes => checkProvider(request, settings, bakes)
  const require = (request: FastifyRequest, what: string): Bake => {
    const bake = bakes?.store.get(pathValue(request, 'id'))
    if (bake === undefined) throw new BackendError(400, `${what} ${pathValue(request, 'id')}.`)
    return bake
  }

  app.post('/api/v1/:region/bake', async (request) => {
    const bake = await bakesFor(request).request({
      region: pathValue(request, 'region'),
      body: request.body,
      user: callerOf(request).user ?? 'anonymous',
      execution: textOf(callerOf(request).identity['x-spinnaker-execution-id']),
      isRebake: ['1', 'true'].includes(queryValue(request, 'rebake') ?? ''),
    })
    return toStatus(bake)
  })
  app.delete('/api/v1/:region/bake', async (request, reply) => {
    const removed = await bakesFor(request).remove({
      region: pathValue(request, 'region'),
      body: request.body,
      user: callerOf(request).user ?? 'anonymous',
    })
    if (removed === undefined) throw new BackendError(400, 'There is no bake for this request.')
    return reply.type('text/plain').send(`Deleted the bake with key ${removed.key} and id ${removed.id}.`)
  })
  app.get('/api/v1/:region/status/:id', (request) => toStatus(require(request, 'There is no bake with status id')))
  app.get('/api/v1/:region/bake/:id', (request) => {
    const bake = require(request, 'There are no details of a bake with id')
    if (bake.state === 'COMPLETED') return toDetails(bake, pathValue(request, 'region'))
    throw new BackendError(400, `There are no details of a bake with id ${bake.id}: it ${describeState(bake)}.`)
  })
  app.get('/api/v1/:region/cancel/:id', async (request, reply) => {
    const { id } = require(request, 'There is no incomplete bake with status id')
    await bakes?.cancel(id)
    return reply.type('text/plain').send(`Cancelled the bake with status id ${id}.`)
  })
  app.post('/api/v1/bakes/delete-requests', async (request, reply) => {
    for (const id of textsOf(fieldOf(request.body, 'pipelineExecutionIds'))) await bakes?.removeOfExecution(id)
    return reply.code(200).send()
  })
  app.get('/status/instance', () => toActivity(bakes))
  app.get('/status/all', () => ({ instance: 'embedded', instances: { embedded: toActivity(bakes) } }))
}

/** Logs show the sources and commands of an account: they need READ on it. */
function mountLogs(app: FastifyInstance, context: BackendContext, bakes: Bakes | undefined): void {
  const send = async (request: FastifyRequest, bake: Bake | undefined, what: string): Promise<JsonObject> => {
    if (bake === undefined) throw new BackendError(404, `There are no logs of a bake ${what} ${pathValue(request, 'id')}.`)
    const access = await requireAccess(context, callerOf(request).user ?? 'anonymous')
    if (!access.mayOnAccount(bake.account, 'READ')) throw new BackendError(403, `Access denied to account ${bake.account}.`)
    const logsContent = await bakes?.log(bake)
    if (logsContent === undefined || logsContent === '')
      throw new BackendError(404, `The bake ${bake.id} has logged nothing yet.`)
    return { logsContent }
  }
  app.get('/api/v1/:region/logs/:id', (request) => send(request, bakes?.store.get(pathValue(request, 'id')), 'with status id'))
  app.get('/api/v1/:region/logs/image/:id', (request) =>
    send(request, bakes?.store.ofImage(pathValue(request, 'id')), 'that made the image'),
  )
}

/** @throws {BackendError} 400 naming the provider, or the setting that enables it */
function checkProvider(request: FastifyRequest, settings: BakerySettings | undefined, bakes: Bakes | undefined): Bakes {
  const asked = textOf(fieldOf(request.body, 'cloud_provider_type')) ?? settings?.defaultProvider ?? provider
  if (asked !== provider) {
    throw new BackendError(
      400,
      `Images for the cloud provider "${asked}" cannot be baked here: the embedded bakery knows "${provider}" only. ` +
        'Connect a bakery (services.rosco.baseUrl) that has a builder for it.',
    )
  }
  if (bakes === undefined) {
    throw new BackendError(
      400,
      `Images for "${provider}" need the embedded infrastructure: no services.clouddriver.baseUrl, and local.enabled.`,
    )
  }
  if (settings?.allowsCommands !== true) throw new BackendError(400, describeRefusal('The bake'))
  return bakes
}

/** @see docs/contracts/bakery.md#bakes */
function toStatus({ id, state }: Bake): JsonObject {
  const result = state === 'RUNNING' ? null : state === 'COMPLETED' ? 'SUCCESS' : 'FAILURE'
  return { id, state, result, resource_id: id }
}

function describeState({ state }: Bake): string {
  return state === 'RUNNING' ? 'still runs' : 'failed'
}

function toDetails({ id, image, imageName, request }: Bake, region: string): JsonObject {
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

function toActivity(bakes: Bakes | undefined): JsonObject {
  const running = bakes?.store.running() ?? []
  return { status: running.length > 0 ? 'RUNNING' : 'IDLE', bakes: running.map(toStatus) }
}

/** Says what is wrong with the request first, so that it is right by the time a renderer is there. */
function refuseManifest(request: FastifyRequest): never {
  const type = pathValue(request, 'type').toUpperCase()
  const input = fieldOf(manifestInputs, type)
  if (input === undefined) {
    const known = Object.keys(manifestInputs).join(', ')
    throw new BackendError(400, `The manifest type "${pathValue(request, 'type')}" is none of ${known}.`)
  }
  const given = fieldOf(request.body, String(input))
  if (given === undefined || given === null || (Array.isArray(given) && given.length === 0)) {
    throw new BackendError(400, `A manifest of type ${type} needs "${String(input)}", and the request has none.`)
  }
  throw new BackendError(
    400,
    `Manifests of type ${type} cannot be rendered here: no renderer is installed. ` +
      'Connect a bakery (services.rosco.baseUrl) that has one.',
  )
}
