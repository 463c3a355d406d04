/** Embedded build integration: the contract of the service over the build servers that are connected. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fieldOf } from '../../json/values.ts'
import { describeChoice } from '../../names/edit-distance.ts'
import { type Backend, BackendError } from '../backend.ts'
import { pathValue, queryValue, requiredQuery } from '../requests/request-values.ts'
import type { BuildServer } from './build-server.ts'
import { buildServerTypes, openBuildServers } from './build-servers.ts'

/** Build servers that the contract knows by name. */
const knownTypes = ['jenkins', 'travis', 'concourse', 'gitlab_ci', 'gcb']

/** Lists that are empty without package registries and cloud build accounts. */
const lists = [
  '/artifactory/names',
  '/nexus/names',
  '/concourse/:host/teams',
  '/concourse/:host/teams/:team/pipelines',
  '/concourse/:host/teams/:team/pipelines/:pipeline/jobs',
  '/concourse/:host/teams/:team/pipelines/:pipeline/resources',
  '/gcb/accounts',
  '/codebuild/accounts',
  '/ci/builds',
  '/scm/masters',
  '/installedPlugins',
]

/** Single things of other integrations: kind, and the position of its name in the path. */
const missing: [path: string, kind: string, name: string][] = [
  ['/artifacts/:provider/:package', 'package registry', 'provider'],
  ['/artifacts/:provider/:package/:version', 'package registry', 'provider'],
  ['/gcb/triggers/:account', 'Google Cloud Build account', 'account'],
  ['/codebuild/projects/:account', 'CodeBuild account', 'account'],
  ['/:scm/:project/:repository/compareCommits', 'source control system', 'scm'],
]

export const buildsBackend: Backend = {
  service: 'igor',
  migrations: [],
  open(context) {
    const servers = openBuildServers(context)
    return {
      routes: (app) => mountBuilds(app, servers),
      close: () => {
        for (const server of servers.values()) server.close?.()
      },
    }
  },
}

type Servers = ReadonlyMap<string, BuildServer>

function mountBuilds(app: FastifyInstance, servers: Servers): void {
  keepBodiesAsSent(app)
  mountServers(app, servers)
  mountJobs(app, servers)
  mountBuildReads(app, servers)
  for (const path of lists) app.get(path, () => [])
  for (const [url, kind, name] of missing) {
    app.get(url, (request) => {
      if (url.endsWith('compareCommits')) for (const commit of ['from', 'to']) requiredQuery(request, commit)
      throw new BackendError(404, `The ${kind} "${pathValue(request, name)}" is not known: none is connected.`)
    })
  }
  app.post('/admin/pollers/fastforward/:monitor', (request) => {
    throw new BackendError(404, `The monitor "${pathValue(request, 'monitor')}" is not known: no build server is polled.`)
  })
}

function mountServers(app: FastifyInstance, servers: Servers): void {
  const all = [...servers.values()]
  app.get('/masters', (request) => {
    const type = checkType(queryValue(request, 'type') ?? '')
    return all.flatMap((server) => (type === '' || server.type === type ? [server.name] : [])).sort()
  })
  app.get('/buildServices', () =>
    all.map(({ name, type }) => ({ name, buildServiceProvider: type.toUpperCase(), permissions: {} })),
  )
  app.get('/ci/builds/:build/output', async (request) => {
    const build = pathValue(request, 'build')
    for (const server of all) {
      const log = await server.output(build)
      if (log !== undefined) return { log }
    }
    throw new BackendError(404, `The build "${build}" is not known.`)
  })
}

function mountJobs(app: FastifyInstance, servers: Servers): void {
  app.get('/jobs/:host', (request) => serverOf(request, servers).jobs())
  app.get('/jobs/:host/*', async (request) => {
    const server = serverOf(request, servers)
    const job = jobOf(request)
    return found(job === '' ? await server.jobs() : await server.job(job), `job "${job}"`)
  })
  app.put('/masters/:host/jobs/*', async (request, reply) => {
    const server = serverOf(request, servers)
    const order = /^(?:(?<job>.+)\/)?stop\/(?<item>[^/]+)\/(?<number>\d+)$/.exec(jobOf(request))?.groups
    if (order !== undefined) {
      await server.stop(order['job'] ?? queryValue(request, 'jobName') ?? '', order['item'] ?? '', Number(order['number']))
      return true
    }
    const id = `${request.headers['x-spinnaker-execution-id'] ?? ''} ${request.body ?? ''}`
    const started = await server.start(jobOf(request), { parameters: request.query as Record<string, string>, id })
    return reply.code(started === undefined ? 202 : 200).send(started)
  })
  app.patch('/masters/:host/jobs/*', async (request) => {
    const server = serverOf(request, servers)
    const [, job = '', number] = /^(.+)\/update\/(\d+)$/.exec(jobOf(request)) ?? []
    await server.describe(job, Number(number), String(fieldOf(JSON.parse(String(request.body)), 'description')))
  })
}

function mountBuildReads(app: FastifyInstance, servers: Servers): void {
  const readBuild = (path: string, read: (asked: AskedBuild) => Promise<unknown>) => {
    const handler = async (request: FastifyRequest) => {
      const number = numberOf(request)
      const job = jobOf(request)
      const answer = await read({ request, number, job, server: serverOf(request, servers) })
      return found(answer, `build ${number} of "${job}"`)
    }
    app.get(path, handler)
    app.get(`${path}/*`, handler)
  }
  readBuild('/builds/status/:number/:host', ({ server, job, number }) => server.build(job, number))
  readBuild('/builds/artifacts/:number/:host', ({ server, job, number }) => server.artifacts(job, number))
  readBuild('/builds/properties/:number/:fileName/:host', ({ request, server, job, number }) =>
    server.properties(job, number, pathValue(request, 'fileName')),
  )
  app.get('/builds/all/:host/*', async (request) => {
    const job = jobOf(request)
    return found(await serverOf(request, servers).builds(job), `job "${job}"`)
  })
  app.get('/builds/queue/:host/:item', async (request) => {
    const item = pathValue(request, 'item')
    return found(await serverOf(request, servers).queueItem(item), `queue item "${item}"`)
  })
}

interface AskedBuild {
  readonly request: FastifyRequest
  readonly server: BuildServer
  readonly job: string
  readonly number: number
}

/** @throws {BackendError} 400 when the text is no kind of build server. */
function checkType(text: string): string {
  const types = [...new Set([...knownTypes, ...buildServerTypes.map(({ id }) => id)])]
  const type = text.toLowerCase().replace('-', '_')
  if (type !== '' && !types.includes(type)) {
    throw new BackendError(400, describeChoice(text, 'a type of build server', types))
  }
  return type
}

/** @throws {BackendError} 404 */
function serverOf(request: FastifyRequest, servers: Servers): BuildServer {
  const host = pathValue(request, 'host')
  const server = servers.get(host)
  if (server !== undefined) return server
  const advice =
    servers.size > 0
      ? `Connected: ${[...servers.keys()].join(', ')}.`
      : 'Connect a build integration service (services.igor.baseUrl) that has some.'
  throw new BackendError(
    404,
    `The build server "${host}" is not known${servers.size > 0 ? '' : ': none is connected'}. ${advice}`,
  )
}

/** The rest of the path, slashes included, or a query parameter. */
function jobOf(request: FastifyRequest): string {
  const rest = fieldOf(request.params, '*')
  return (typeof rest === 'string' ? rest : (queryValue(request, 'job') ?? '')).replace(/\/$/, '')
}

/** @throws {BackendError} 400 */
function numberOf(request: FastifyRequest): number {
  const text = pathValue(request, 'number')
  if (!/^\d+$/.test(text)) throw new BackendError(400, `The build number "${text}" is not a whole number.`)
  return Number(text)
}

/** @throws {BackendError} 404 */
function found<Thing>(thing: Thing | undefined, name: string): Thing {
  if (thing === undefined) throw new BackendError(404, `The ${name} is not known.`)
  return thing
}

/** A start carries its time as plain text, which is not JSON. */
function keepBodiesAsSent(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
}
