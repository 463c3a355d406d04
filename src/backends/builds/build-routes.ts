/** Routes that read builds: lists, single builds, their files and queue items. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { JsonObject } from '../../json/values.ts'
import { PortError } from '../../ports/port-error.ts'
import { askerOf } from '../requests/request-caller.ts'
import { pathValue, queryValue, requiredQuery } from '../requests/request-values.ts'
import type { BuildServer } from './build-server.ts'
import { found, jobOf, numberOf, type Servers, serverOf, toNumber } from './server-requests.ts'

interface NamedBuild {
  readonly request: FastifyRequest
  readonly user: string | undefined
  readonly server: BuildServer
  readonly job: string
  readonly number: number
}

/** Build servers archive files some time after the end of a build. */
const lookups = 5

/** @param lookupMs Pause between two lookups of a file, in milliseconds */
export function mountBuildReads(app: FastifyInstance, servers: Servers, lookupMs: number): void {
  const readBuild = (path: string, read: (named: NamedBuild) => Promise<unknown>) => {
    const handler = (request: FastifyRequest) => {
      const number = numberOf(request)
      return read({ request, user: askerOf(request), number, job: jobOf(request), server: serverOf(request, servers) })
    }
    app.get(path, handler)
    app.get(`${path}/*`, handler)
  }
  readBuild('/builds/status/:number/:host', async ({ server, job, number, user }) =>
    found(await server.build(job, number, user), `build ${number} of "${job}"`),
  )
  readBuild('/builds/artifacts/:number/:host', async ({ server, job, number, user }) =>
    found(await server.artifacts(job, number, user), `build ${number} of "${job}"`),
  )
  readBuild('/builds/file/:number/:host', async ({ request, server, job, number, user }) => {
    const path = requiredQuery(request, 'path')
    // Below the files of the build, with the credentials of its server.
    if (path.startsWith('/') || path.split('/').includes('..'))
      throw new PortError(400, `The path "${path}" must lead to a file of the build: without ".." and "/" at its beginning.`)
    return found(await server.file?.(job, number, path, user), `file "${path}" of the build ${number} of "${job}"`)
  })
  readBuild('/builds/output/:number/:host', async ({ server, job, number, user }) => ({
    log: found(await server.output(job, number, user), `log of the build ${number} of "${job}"`),
  }))
  readBuild('/builds/properties/:number/:fileName/:host', async (build) => {
    const fileName = pathValue(build.request, 'fileName')
    const { job, number } = build
    return found(await lookUpProperties(build, fileName, lookupMs), `file "${fileName}" of the build ${number} of "${job}"`)
  })
  const listBuilds = async (request: FastifyRequest) => {
    const job = jobOf(request)
    return found(await serverOf(request, servers).builds(job, askerOf(request)), `job "${job}"`)
  }
  app.get('/builds/all/:host', listBuilds)
  app.get('/builds/all/:host/*', listBuilds)
  const listChanges = async (request: FastifyRequest) => {
    const [job, server] = [jobOf(request), serverOf(request, servers)]
    const [after = 0, until = 0] = ['after', 'until'].map((name) => toNumber(requiredQuery(request, name)))
    return found(await server.changes?.(job, { after, until }, askerOf(request)), `list of changes of "${job}"`)
  }
  app.get('/builds/changes/:host', listChanges)
  app.get('/builds/changes/:host/*', listChanges)
  app.get('/builds/queue/:host/:item', async (request) => {
    const item = pathValue(request, 'item')
    return found(await serverOf(request, servers).queueItem(item, queryValue(request, 'job')), `queue item "${item}"`)
  })
}

async function lookUpProperties(
  { server, job, number, user }: NamedBuild,
  fileName: string,
  pauseMs: number,
): Promise<JsonObject | undefined> {
  if (fileName === '') return {}
  for (let attempt = 1; ; attempt++) {
    const properties = await server.properties(job, number, fileName, user)
    if (properties !== undefined || server.archivesLate !== true || attempt === lookups) return properties
    await sleep(pauseMs)
  }
}
