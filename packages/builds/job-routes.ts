/** Routes of jobs: their lists and descriptions, and what acts on their builds. */

import { parseJson } from '@fairlead/base/json/json.ts'
import { fieldOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, queryValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type BuildService, found } from './build-service.ts'
import { asAsker, jobOf, serverOf } from './server-requests.ts'

export function mountJobs(app: FastifyInstance, builds: BuildService): void {
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
