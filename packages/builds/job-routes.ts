/** Routes of jobs: their lists and descriptions, and what acts on their builds. */

import { parseJson } from '@fairlead/base/json/json.ts'
import { fieldOf, type JsonObject, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { askerOf, trustedCallerOf, userOf } from '@fairlead/ports/requests/request-caller.ts'
import { queryValue } from '@fairlead/ports/requests/request-values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { BuildServer } from './build-server.ts'
import type { BuildService } from './build-service.ts'
import type { BuildStarts } from './build-starts.ts'
import { found, isRestricted, jobOf, mayOnServer, serverOf } from './server-requests.ts'

interface JobParts {
  readonly context: BackendContext
  readonly builds: BuildService
  readonly starts: BuildStarts
}

export function mountJobs(app: FastifyInstance, { context, builds, starts }: JobParts): void {
  const changedServerOf = async (request: FastifyRequest) => {
    const server = serverOf(request, builds)
    await checkMayChange(request, server, context)
    return server
  }
  app.get('/jobs/:host', (request) => serverOf(request, builds).jobs(askerOf(request)))
  app.get('/jobs/:host/*', async (request) => {
    const server = serverOf(request, builds)
    const job = jobOf(request)
    const user = askerOf(request)
    return job === '' ? server.jobs(user) : found(await server.job(job, user), `job "${job}" of "${server.name}"`)
  })
  app.put('/masters/:host/jobs/*', async (request, reply) => {
    const server = await changedServerOf(request)
    const stop = /^(?:(?<job>.+)\/)?stop\/(?<item>[^/]+)\/(?<number>\d{1,15})$/.exec(jobOf(request))?.groups
    if (stop !== undefined) {
      const job = stop['job'] ?? queryValue(request, 'jobName') ?? ''
      await server.stop(job, stop['item'] ?? '', Number(stop['number']), askerOf(request))
      return true
    }
    const started = await startBuild(request, server, { context, starts })
    return reply.code(started === undefined ? 202 : 200).send(started)
  })
  app.patch('/masters/:host/jobs/*', async (request, reply) => {
    const server = await changedServerOf(request)
    const [, job, number] = /^(.+)\/update\/(\d{1,15})$/.exec(jobOf(request)) ?? []
    if (job === undefined) throw new PortError(404, 'No PATCH operation has this path.')
    await server.describe(job, Number(number), descriptionIn(request.body), askerOf(request))
    return reply.code(200).send()
  })
}

/** Reads are the gateway's to check; changes come from stages. @throws {PortError} 403, 503 */
async function checkMayChange(request: FastifyRequest, server: BuildServer, context: BackendContext) {
  if (context.settings.authorization !== true || !isRestricted(server)) return
  const user = userOf(request)
  const access = await requireAccess(context, user)
  if (mayOnServer(access, server, 'WRITE')) return
  throw new PortError(
    403,
    `This needs WRITE on the build server "${server.name}"; ${user} has none of its roles. An operator can add one to its permissions.`,
    { exception: 'AccessDenied' },
  )
}

/** @returns the number of the queue item or build, as text; undefined while an equal request is in progress */
function startBuild(
  request: FastifyRequest,
  server: BuildServer,
  { context, starts }: Pick<JobParts, 'context' | 'starts'>,
): Promise<string | undefined> {
  const job = jobOf(request)
  const parameters = parametersOf(request)
  const { identity } = trustedCallerOf(request)
  const executionId = identity['x-spinnaker-execution-id'] ?? ''
  const startTime = String(request.body ?? '')
  const application = identity['x-spinnaker-application']
  return starts.run({ server: server.name, job, executionId, startTime, parameters }, async () => {
    const config = found(await server.job(job, askerOf(request)), `job "${job}" of "${server.name}"`)
    checkOrder(job, config, parameters)
    const place = `build ${server.name}/${job}`
    const { value } =
      server.keepsReferences === true
        ? { value: parameters }
        : await context.secrets.reveal(parameters, { application, user: userOf(request), place })
    return server.start(job, { parameters: value, user: userOf(request), application, config })
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

/** @throws {PortError} 400 when the job is disabled, or a value is not one of the choices of its parameter */
function checkOrder(job: string, config: JsonObject, parameters: Readonly<Record<string, string>>): void {
  if (config['buildable'] === false)
    throw new PortError(400, `The job "${job}" cannot be built: it is disabled. Enable it there.`)
  for (const definition of objectsOf(config['parameterDefinitionList'])) {
    const name = textOf(definition['name']) ?? ''
    const value = fieldOf(parameters, name)
    const choices = definition['choices']
    if (typeof value !== 'string' || !Array.isArray(choices) || textsOf(choices).includes(value)) continue
    throw new PortError(
      400,
      `"${value}" is not a choice of the parameter "${name}" of the job "${job}". Use one of ${textsOf(choices).join(', ')}.`,
    )
  }
}
