/** The embedded bakery: its contract for an installation without image builder and manifest renderer. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fieldOf, textOf } from '../../json/values.ts'
import { type Backend, BackendError } from '../backend.ts'

const defaultProvider = 'aws'

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

export const bakeryBackend: Backend = {
  service: 'rosco',
  migrations: [],
  open: () => ({
    routes(app) {
      mountOptions(app)
      mountImageBakes(app)
      app.post('/api/v2/manifest/bake/:type', refuseManifest)
      app.get('/installedPlugins', () => [])
    },
  }),
}

/** No provider is enabled, so no base image exists. These 404s have a body of their own (docs/contracts/bakery.md#options). */
function mountOptions(app: FastifyInstance): void {
  app.get('/bakeOptions', () => [])
  app.get('/bakeOptions/:provider', (request, reply) =>
    optionsMissing(reply, 'bake.options.not.found', `Bake options for ${pathValue(request, 'provider')} are not enabled.`),
  )
  app.get('/bakeOptions/:provider/baseImages/:image', (request, reply) =>
    optionsMissing(
      reply,
      'images.not.found',
      `Base image ${pathValue(request, 'image')} is not known for ${pathValue(request, 'provider')}; there are none.`,
    ),
  )
}

function optionsMissing(reply: FastifyReply, error: string, message: string): FastifyReply {
  return reply.code(404).send({ error, status: 'NOT_FOUND', messages: [message] })
}

/**
 * No bake was ever started. Unknown bakes are 400 except for logs: an orchestrator reads 404 as "keep polling"
 * (docs/contracts/bakery.md#bakes).
 */
function mountImageBakes(app: FastifyInstance): void {
  app.post('/api/v1/:region/bake', refuseProvider)
  app.delete('/api/v1/:region/bake', refuseProvider)
  app.get('/api/v1/:region/status/:id', refuse(400, 'There is no bake with status id'))
  app.get('/api/v1/:region/bake/:id', refuse(400, 'There are no details of a bake with id'))
  app.get('/api/v1/:region/cancel/:id', refuse(400, 'There is no incomplete bake with status id'))
  app.get('/api/v1/:region/logs/:id', refuse(404, 'There are no logs of a bake with status id'))
  app.get('/api/v1/:region/logs/image/:id', refuse(404, 'There are no logs of a bake that made the image'))
  app.post('/api/v1/bakes/delete-requests', (_request, reply) => reply.code(200).send())
  app.get('/status/instance', () => idle)
  app.get('/status/all', () => ({ instance: 'embedded', instances: { embedded: idle } }))
}

const idle = { status: 'IDLE', bakes: [] }

function refuseProvider(request: FastifyRequest): never {
  const provider = textOf(fieldOf(request.body, 'cloud_provider_type')) ?? defaultProvider
  throw new BackendError(
    400,
    `Images for the cloud provider "${provider}" cannot be baked here: no builder is configured. ` +
      'Connect a bakery (services.rosco.baseUrl) that has one.',
  )
}

function refuse(status: number, what: string): (request: FastifyRequest) => never {
  return (request) => {
    throw new BackendError(status, `${what} ${pathValue(request, 'id')}.`)
  }
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

function pathValue(request: FastifyRequest, name: string): string {
  return String(fieldOf(request.params, name) ?? '')
}
