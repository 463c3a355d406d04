/** Routes that read builds: lists, single builds, their files and queue items. */

import { withoutContacts } from '@fairlead/model/environments/commit-authors.ts'
import type { Build } from '@fairlead/ports/builds.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, queryValue, requiredQuery } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type BuildService, found } from './build-service.ts'
import { asAsker, jobOf, numberOf, serverOf, toNumber } from './server-requests.ts'

export function mountBuildReads(app: FastifyInstance, builds: BuildService): void {
  type Read = (build: Build, as: Caller, request: FastifyRequest) => Promise<unknown>
  const readBuild = (path: string, nameOf: (request: FastifyRequest) => string, read: Read) => {
    const handler = async (request: FastifyRequest) => {
      const build = {
        host: pathValue(request, 'host'),
        job: jobOf(request),
        number: numberOf(request),
      }
      const thing = await read(build, asAsker(request), request)
      return found(thing, `${nameOf(request)}build ${build.number} of "${build.job}"`)
    }
    app.get(path, handler)
    app.get(`${path}/*`, handler)
  }
  const itself = () => ''
  readBuild('/builds/status/:number/:host', itself, async (build, as) => {
    const found = await builds.build(build, as)
    return found && withoutContacts(found)
  })
  readBuild('/builds/artifacts/:number/:host', itself, (build, as) =>
    builds.artifacts(build, undefined, as),
  )
  const fileOf = (name: string) => `file "${name}" of the `
  readBuild(
    '/builds/file/:number/:host',
    (request) => fileOf(requiredQuery(request, 'path')),
    (build, as, request) => builds.file(build, requiredQuery(request, 'path'), as),
  )
  readBuild(
    '/builds/output/:number/:host',
    () => 'log of the ',
    async ({ host, job, number }, { user }) => {
      const log = await builds.server(host).output(job, number, user)
      return log === undefined ? undefined : { log }
    },
  )
  readBuild(
    '/builds/properties/:number/:fileName/:host',
    (request) => fileOf(pathValue(request, 'fileName')),
    (build, as, request) => builds.properties(build, pathValue(request, 'fileName'), as),
  )
  const listBuilds = async (request: FastifyRequest) => {
    const job = jobOf(request)
    const listed = await serverOf(request, builds).builds(job, userOf(request))
    return found(listed, `job "${job}"`).map(withoutContacts)
  }
  app.get('/builds/all/:host', listBuilds)
  app.get('/builds/all/:host/*', listBuilds)
  const listChanges = async (request: FastifyRequest) => {
    const [job, server] = [jobOf(request), serverOf(request, builds)]
    const [after = 0, until = 0] = ['after', 'until'].map((name) =>
      toNumber(requiredQuery(request, name)),
    )
    const scm = await server.changes?.(job, { after, until }, userOf(request))
    return withoutContacts({ scm: found(scm, `list of changes of "${job}"`) }).scm
  }
  app.get('/builds/changes/:host', listChanges)
  app.get('/builds/changes/:host/*', listChanges)
  app.get('/builds/queue/:host/:item', async (request) => {
    const item = pathValue(request, 'item')
    return found(
      await serverOf(request, builds).queueItem(item, queryValue(request, 'job')),
      `queue item "${item}"`,
    )
  })
}
