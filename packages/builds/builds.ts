/** Embedded build integration: the contract of the service over the build servers that are connected. */

import { parseJson } from '@fairlead/base/json/json.ts'
import { fieldOf } from '@fairlead/base/json/values.ts'
import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Backend, BackendContext, OpenBackend } from '@fairlead/ports/backend.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, queryValue, requiredQuery } from '@fairlead/ports/requests/request-values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { mountBuildReads } from './build-routes.ts'
import { toProvider } from './build-server.ts'
import { buildServerTypes, openBuildServers } from './build-servers.ts'
import { BuildService, found, mayOnServer, type Servers } from './build-service.ts'
import { buildStartMigrations } from './build-starts.ts'
import { mountSources } from './local/sources/source-routes.ts'
import { pollMigrations } from './polls/memory.ts'
import { BuildPollers } from './polls/pollers.ts'
import { asAsker, jobOf, serverOf } from './server-requests.ts'

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

/** @param lookupMs Pause between two lookups of a file that a build server archives late; shorter ones are for tests. */
export function createBuildsBackend({
  lookupMs = 2_000,
}: {
  readonly lookupMs?: number
} = {}): Backend {
  const ofTypes = buildServerTypes.flatMap(({ id, migrations }) =>
    migrations === undefined ? [] : [[id, migrations] as const],
  )
  return {
    service: 'igor',
    migrations: [],
    partMigrations: {
      starts: buildStartMigrations,
      polls: pollMigrations,
      ...Object.fromEntries(ofTypes),
    },
    open: (context) => openBuilds(context, openBuildServers(context), lookupMs),
  }
}

export const buildsBackend: Backend = createBuildsBackend()

function openBuilds(context: BackendContext, servers: Servers, lookupMs: number): OpenBackend {
  const pollers = new BuildPollers(context, servers)
  const builds = new BuildService(context, servers, lookupMs)
  const all = [...servers.values()]
  return {
    ports: { builds },
    routes(app) {
      keepBodiesAsSent(app)
      mountServers(app, context, servers)
      mountJobs(app, builds)
      mountBuildReads(app, builds)
      mountSources(app, all.find(({ sources }) => sources !== undefined)?.sources)
      mountOthers(app)
      app.post('/admin/pollers/fastforward/:monitor', async (request, reply) => {
        await pollers.fastForward(
          pathValue(request, 'monitor'),
          queryValue(request, 'partition') ?? '',
        )
        return reply.code(204).send()
      })
    },
    start() {
      for (const server of all) server.resume?.()
      pollers.start()
    },
    async close() {
      await pollers.close()
      await Promise.all(all.map((server) => server.close?.()))
    },
  }
}

function mountServers(app: FastifyInstance, context: BackendContext, servers: Servers): void {
  const all = [...servers.values()]
  app.get('/masters', (request) => {
    const type = checkType(queryValue(request, 'type') ?? '')
    return all
      .flatMap((server) => (type === '' || toProvider(server.type) === type ? [server.name] : []))
      .sort()
  })
  app.get('/buildServices', async () =>
    all.map(({ name, type, permissions = {} }) => ({
      name,
      buildServiceProvider: toProvider(type),
      permissions,
    })),
  )
  // The gateway cannot know of which server the build is.
  app.get('/ci/builds/:build/output', async (request) => {
    const readable = await readableServers(context, userOf(request), servers)
    return { log: await loadLog(readable, pathValue(request, 'build'), userOf(request)) }
  })
}

/** @throws {PortError} 503 */
async function readableServers(
  context: BackendContext,
  user: string,
  servers: Servers,
): Promise<Servers> {
  if (context.settings.authorization !== true) return servers
  const access = await requireAccess(context, user)
  return new Map([...servers].filter(([, server]) => mayOnServer(access, server, 'READ')))
}

function mountOthers(app: FastifyInstance): void {
  for (const path of lists) app.get(path, () => [])
  for (const [url, kind, name] of missing) {
    app.get(url, (request) => {
      if (url.endsWith('compareCommits'))
        for (const commit of ['from', 'to']) requiredQuery(request, commit)
      throw new PortError(
        404,
        `The ${kind} "${pathValue(request, name)}" does not exist: none is connected.`,
      )
    })
  }
}

/**
 * The log of a build that may name its server, `ci-main/team/app-7`; else the first server that knows it has it. A server that
 * fails does not hide the others.
 *
 * @throws {PortError} 404, or the failure of a server that may have it
 */
async function loadLog(servers: Servers, build: string, user: string | undefined): Promise<string> {
  const [host = ''] = build.split('/', 1)
  const named = servers.get(host)
  const places = named === undefined ? servers.values() : [named]
  const id = named === undefined ? build : build.slice(host.length + 1)
  const [, job = '', number] = /^(.+)-(\d{1,15})$/.exec(id) ?? []
  let failure: unknown
  for (const server of number === undefined ? [] : places) {
    try {
      const log = await server.output(job, Number(number), user)
      if (log !== undefined) return log
    } catch (error) {
      failure ??= error
    }
  }
  throw failure ?? new PortError(404, `The build "${build}" does not exist.`)
}

/** @throws {PortError} 400 when the text is no kind of build server. */
function checkType(text: string): string {
  const types = [
    ...new Set([...knownTypes, ...buildServerTypes.map(({ id }) => toProvider(id).toLowerCase())]),
  ]
  const type = toProvider(text)
  if (type !== '' && !types.includes(type.toLowerCase())) {
    throw new PortError(400, describeChoice(text, 'a type of build server', types))
  }
  return type
}

/** A start carries its time as plain text, which is not JSON. */
function keepBodiesAsSent(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
}

/** Routes of jobs: their lists and descriptions, and what acts on their builds. */
function mountJobs(app: FastifyInstance, builds: BuildService): void {
  app.get('/jobs/:host', (request) => serverOf(request, builds).jobs(userOf(request)))
  app.get('/jobs/:host/*', async (request) => {
    const server = serverOf(request, builds)
    const job = jobOf(request)
    const user = userOf(request)
    return job === ''
      ? server.jobs(user)
      : found(await server.job(job, user), `job "${job}" of "${server.name}"`)
  })
  app.put('/masters/:host/jobs/*', async (request, reply) => {
    const [host, path, as] = [pathValue(request, 'host'), jobOf(request), asAsker(request)]
    const stop = /^(?:(?<job>.+)\/)?stop\/(?<item>[^/]+)\/(?<number>\d{1,15})$/.exec(path)?.groups
    if (stop !== undefined) {
      const job = stop['job'] ?? queryValue(request, 'jobName') ?? ''
      await builds.stop({ host, job, item: stop['item'] ?? '', number: Number(stop['number']) }, as)
      return true
    }
    const order = {
      host,
      job: path,
      parameters: parametersOf(request),
      startTime: String(request.body ?? ''),
    }
    const started = await builds.start(order, as)
    return reply.code(started === undefined ? 202 : 200).send(started)
  })
  app.patch('/masters/:host/jobs/*', async (request, reply) => {
    const server = serverOf(request, builds)
    await builds.checkChange(server, asAsker(request))
    const [, job, number] = /^(.+)\/update\/(\d{1,15})$/.exec(jobOf(request)) ?? []
    if (job === undefined) throw new PortError(404, 'No PATCH operation has this path.')
    await server.describe(job, Number(number), descriptionIn(request.body), userOf(request))
    return reply.code(200).send()
  })
}

/** Several values of one parameter become one, as in a list. */
function parametersOf(request: FastifyRequest): Record<string, string> {
  const query = Object.entries({ ...(request.query as Record<string, string | string[]>) })
  return Object.fromEntries(query.map(([name, value]) => [name, String(value)]))
}

/** @throws {PortError} 400 */
function descriptionIn(body: unknown): string {
  try {
    const description = fieldOf(parseJson(String(body ?? '')), 'description')
    if (typeof description === 'string') return description
  } catch {}
  throw new PortError(400, 'The body must be JSON with a text as "description".')
}
