/**
 * Builds: commands of the embedded bakery that the agent runs, so that a restart of Fairlead does not end them. Only the back ends
 * of this process reach these paths; the gateway has no operation for them.
 */
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { AgentClient } from '../../../agent/client.ts'
import type { JsonObject } from '../../../json/values.ts'
import { BackendError } from '../../backend.ts'
import { ImageFile } from '../../images/image-file.ts'
import { pathValue, queryValue } from '../../request-values.ts'
import type { LocalJob } from './desired.ts'
import type { OperationParts } from './operations/parts.ts'
import { toProgram } from './program.ts'

const Build = z.strictObject({
  account: z.string(),
  /** Its content is copied into the working directory. */
  image: z.strictObject({ id: z.string(), digest: z.string() }).optional(),
  command: z.array(z.string()).min(1),
  environment: z.record(z.string(), z.string()),
  timeLimitMs: z.int().min(1),
  memoryMb: z.int().min(1),
  diskMb: z.int().min(1),
})

/** Beside its memory, a build takes what it needs; this is no instance type of the configuration. */
const unlimited = 'build'
const stopSeconds = 5
const defaultTailBytes = 1024 * 1024

export interface BuildRouteParts {
  readonly agent: AgentClient
  readonly dataDir: string
  readonly parts: OperationParts
}

/**
 * `PUT /local/builds/{id}` starts a build, once; `GET` answers `{id, phase, exitCode, reason, folder}`, `GET …/console` with
 * `{output}`; `DELETE` stops it and removes its folder. `GET /local/builds` lists ids.
 */
export function buildRoutes(app: FastifyInstance, { agent, dataDir, parts }: BuildRouteParts): void {
  const { desired, reconciler, settings, users, context } = parts

  const find = (id: string): LocalJob | undefined => {
    const job = desired.get('jobs', id)
    return job?.isBuild === true && job.leavingRevision === undefined ? job : undefined
  }

  app.get('/local/builds', () => [...desired.all('jobs')].filter(({ id }) => find(id) !== undefined).map(({ id }) => ({ id })))

  app.put('/local/builds/:id', (request) => {
    const id = pathValue(request, 'id')
    const { account, image, command, environment, timeLimitMs, ...limits } = Build.parse(request.body)
    const place = settings.accounts.find(({ name }) => name === account)
    if (place === undefined) throw new BackendError(400, `The account "${account}" does not exist.`)
    const problem = users.problemOf(account)
    if (problem !== undefined) throw new BackendError(400, problem)
    if (find(id) === undefined) {
      const job: LocalJob = {
        id,
        name: id,
        account,
        region: place.regions[0]?.name ?? '',
        application: '',
        createdMs: context.now(),
        timeLimitMs,
        image: image?.id,
        program: toProgram(ImageFile.parse({ command }), { environment, stopSeconds, limits }),
        digest: image?.digest,
        instanceType: unlimited,
        labels: {},
        end: undefined,
        isBuild: true,
        leavingRevision: undefined,
      }
      reconciler.change(() => desired.put('jobs', job))
    }
    return { id }
  })

  app.get('/local/builds/:id', (request): JsonObject => {
    const { id, end } = requireBuild(find(pathValue(request, 'id')))
    const observed = reconciler.observation.instances.get(id)
    const folder = join(dataDir, 'instances', id, 'work')
    if (end !== undefined) return { id, phase: 'ended', exitCode: end.exitCode, reason: end.reason, folder }
    return { id, phase: observed?.phase ?? 'starting', reason: observed?.reason ?? agent.problem(), folder }
  })

  app.get('/local/builds/:id/console', async (request): Promise<JsonObject> => {
    const { id } = requireBuild(find(pathValue(request, 'id')))
    const tailBytes = Number(queryValue(request, 'tailBytes') ?? defaultTailBytes)
    return { output: (await agent.console(id, tailBytes)) ?? '' }
  })

  app.delete('/local/builds/:id', (request, reply) => {
    const job = find(pathValue(request, 'id'))
    if (job !== undefined) {
      reconciler.change(() => desired.put('jobs', { ...job, leavingRevision: desired.revision + 1 }))
    }
    return reply.code(204).send()
  })
}

/** @throws {BackendError} 404 */
function requireBuild(job: LocalJob | undefined): LocalJob {
  if (job === undefined) throw new BackendError(404, 'There is no such build.')
  return job
}
