/** Embedded build integration of an installation without a build server. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { describeChoice } from '../../edit-distance.ts'
import { fieldOf } from '../../json/values.ts'
import { type Backend, BackendError } from '../backend.ts'
import { pathValue, queryValue } from '../request-values.ts'

/** Build servers that the contract knows by name. */
const providers = ['jenkins', 'travis', 'concourse', 'gitlab_ci', 'gcb']

/** Lists that are empty without build servers, package registries and cloud build accounts. */
const lists = [
  '/buildServices',
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

/** Everything below names a host, which cannot exist. The job is the rest of the path, slashes included. */
const hostRoutes: [method: string, path: string][] = [
  ['GET', '/jobs/:host'],
  ['GET', '/jobs/:host/*'],
  ['GET', '/builds/all/:host/*'],
  ['GET', '/builds/status/:number/:host'],
  ['GET', '/builds/status/:number/:host/*'],
  ['GET', '/builds/properties/:number/:fileName/:host'],
  ['GET', '/builds/properties/:number/:fileName/:host/*'],
  ['GET', '/builds/artifacts/:number/:host'],
  ['GET', '/builds/artifacts/:number/:host/*'],
  ['GET', '/builds/queue/:host/:item'],
  ['PUT', '/masters/:host/jobs/*'],
  ['PATCH', '/masters/:host/jobs/*'],
]

/** Single things of other integrations: kind, and the position of its name in the path. */
const missing: [path: string, kind: string, name: string][] = [
  ['/artifacts/:provider/:package', 'package registry', 'provider'],
  ['/artifacts/:provider/:package/:version', 'package registry', 'provider'],
  ['/gcb/triggers/:account', 'Google Cloud Build account', 'account'],
  ['/codebuild/projects/:account', 'CodeBuild account', 'account'],
  ['/ci/builds/:build/output', 'build', 'build'],
  ['/:scm/:project/:repository/compareCommits', 'source control system', 'scm'],
]

export const buildsBackend: Backend = {
  service: 'igor',
  migrations: [],
  open: () => ({ routes: mountBuilds }),
}

function mountBuilds(app: FastifyInstance): void {
  keepBodiesAsSent(app)
  app.get('/masters', listHosts)
  for (const path of lists) app.get(path, () => [])
  for (const [method, url] of hostRoutes) app.route({ method, url, handler: refuseHost })
  for (const [url, kind, name] of missing) {
    app.get(url, (request) => {
      if (url.endsWith('compareCommits')) requireCommits(request)
      throw new BackendError(404, `The ${kind} "${pathValue(request, name)}" is not known: none is connected.`)
    })
  }
  app.post('/admin/pollers/fastforward/:monitor', (request) => {
    throw new BackendError(404, `The monitor "${pathValue(request, 'monitor')}" is not known: no build server is polled.`)
  })
}

/** @throws {BackendError} 400 when `type` is no kind of build server. */
function listHosts(request: FastifyRequest): string[] {
  const type = queryValue(request, 'type') ?? ''
  if (type !== '' && !providers.includes(type.toLowerCase().replace('-', '_'))) {
    throw new BackendError(400, describeChoice(type, 'a type of build server', providers))
  }
  return []
}

/** @throws {BackendError} 404, or 400 when the path has a build number that is none. */
function refuseHost(request: FastifyRequest): never {
  const number = fieldOf(request.params, 'number')
  if (number !== undefined && !/^\d+$/.test(String(number))) {
    throw new BackendError(400, `The build number "${String(number)}" is not a whole number.`)
  }
  throw new BackendError(
    404,
    `The build server "${pathValue(request, 'host')}" is not known: none is connected. ` +
      'Connect a build integration service (services.igor.baseUrl) that has some.',
  )
}

function requireCommits(request: FastifyRequest): void {
  for (const name of ['from', 'to']) {
    if (queryValue(request, name) === undefined) {
      throw new BackendError(400, `The query parameter "${name}" is required.`)
    }
  }
}

/** A start carries its time as plain text, which is not JSON; nothing here reads a body. */
function keepBodiesAsSent(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
}
