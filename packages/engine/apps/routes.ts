/** Routes of apps: plans, deployments and their state. */
import { isRevision, repositoryPattern } from '@fairlead/base/outside/git-repository.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeIssues } from '@fairlead/base/settings/describe-issue.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, queryFlag, queryValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Apps } from './apps.ts'

const gitHosts = ['github', 'gitlab', 'bitbucket', 'gitea', 'forgejo', 'gogs', 'git'] as const
const maxFileLength = 256 * 1024

const file = z
  .string('it must be the text of the app file')
  .refine((text) => Buffer.byteLength(text) <= maxFileLength, 'it may have at most 256 KiB')
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined)
const environment = optional(z.string().min(1))
const message = optional(z.string().max(500, 'it may have at most 500 characters'))

const PlanRequest = z.object({ file, environment })
const DeploymentRequest = PlanRequest.extend({
  image: optional(z.string().min(1, 'it is empty')),
  source: optional(z.string().min(1, 'it is empty')),
  commit: optional(
    z.string().regex(/^[0-9a-f]{7,64}(-dirty)?$/, 'it must be a commit in hexadecimal digits'),
  ),
  commitDetails: optional(
    z.object({
      message: optional(z.string()),
      author: optional(z.string()),
      email: optional(z.string()),
      branch: optional(z.string()),
      timestamp: optional(z.string()),
    }),
  ),
  message,
  overwrite: optional(z.boolean()),
}).refine(
  ({ image, source }) => (image === undefined) !== (source === undefined),
  'give either "source" or "image"',
)

const RollbackRequest = z.object({ environment, to: optional(z.string().min(1)) })
const PromotionRequest = z.object({ to: environment, message })
const ScaleRequest = z.object({
  environment,
  services: z.record(z.string(), z.int().min(0).max(100)),
})
const ConnectionRequest = z.object({
  repository: z.string().regex(repositoryPattern, 'it must be the address of a Git repository'),
  branch: z.string().refine(isRevision, 'it must be a branch').default('main'),
  source: z.enum(gitHosts).default('git'),
  account: optional(z.string().min(1)),
})
const DatabaseRequest = z.object({
  environment,
  from: optional(z.string().regex(/^[\w.-]+$/, 'it must be the name of a backup')),
  confirm: optional(z.string()),
  to: optional(z.string().regex(/^\d{1,3}$/, 'it must be a major version, such as 17')),
})
const SecretUseRequest = z.object({ restarts: z.boolean() })

export function appRoutes(app: FastifyInstance, apps: Apps): void {
  const nameOf = (request: FastifyRequest) => pathValue(request, 'application')

  app.post('/apps/:application/plan', (request) =>
    apps.deployments.plan(
      { ...given(PlanRequest, request), application: nameOf(request) },
      trustedCallerOf(request),
    ),
  )

  app.post('/apps/:application/deployments', async (request, reply) => {
    const { overwrite = false, ...order } = given(DeploymentRequest, request)
    const application = nameOf(request)
    return reply
      .code(202)
      .send(
        await apps.deployments.deploy(
          { ...order, application, overwrite },
          trustedCallerOf(request),
        ),
      )
  })

  app.get('/apps/:application', (request) => apps.status(nameOf(request), trustedCallerOf(request)))

  app.post('/apps/:application/rollback', (request) => {
    const dryRun = queryFlag(request, 'dryRun') ?? false
    const order = { ...given(RollbackRequest, request), application: nameOf(request), dryRun }
    return apps.deployments.rollback(order, trustedCallerOf(request))
  })

  app.post('/apps/:application/promotions', async (request, reply) => {
    const order = { ...given(PromotionRequest, request), application: nameOf(request) }
    return reply.code(202).send(await apps.deployments.promote(order, trustedCallerOf(request)))
  })

  app.put('/apps/:application/scale', (request) =>
    apps.scale(
      { ...given(ScaleRequest, request), application: nameOf(request) },
      trustedCallerOf(request),
    ),
  )

  app.get('/apps/:application/variables', (request) =>
    apps.variables(nameOf(request), queryValue(request, 'environment'), trustedCallerOf(request)),
  )

  app.post('/apps/:application/secrets/:name/uses', (request) =>
    apps.deployments.applySecret(
      nameOf(request),
      { ...given(SecretUseRequest, request), name: pathValue(request, 'name') },
      trustedCallerOf(request),
    ),
  )

  app.get('/apps/:application/databases', (request) =>
    apps.databases.list(nameOf(request), trustedCallerOf(request)),
  )

  const orderOf = (request: FastifyRequest) => ({
    ...given(DatabaseRequest, request),
    application: nameOf(request),
    name: pathValue(request, 'name'),
  })

  app.post('/apps/:application/databases/:name/backups', async (request, reply) =>
    reply.code(202).send(await apps.databases.backUp(orderOf(request), trustedCallerOf(request))),
  )

  app.post('/apps/:application/databases/:name/restore', async (request, reply) =>
    reply.code(202).send(await apps.databases.restore(orderOf(request), trustedCallerOf(request))),
  )

  app.post('/apps/:application/databases/:name/upgrade', async (request, reply) =>
    reply.code(202).send(await apps.databases.upgrade(orderOf(request), trustedCallerOf(request))),
  )

  app.post('/apps/:application/databases/:name/rotation', async (request, reply) =>
    reply.code(202).send(await apps.databases.rotate(orderOf(request), trustedCallerOf(request))),
  )

  app.post('/apps/:application/databases/:name/removal', async (request, reply) =>
    reply.code(202).send(await apps.databases.remove(orderOf(request), trustedCallerOf(request))),
  )

  app.post('/apps/:application/eject', (request) =>
    apps.eject(nameOf(request), trustedCallerOf(request)),
  )

  app.put('/apps/:application/connection', (request) =>
    apps.connections.connect(
      nameOf(request),
      given(ConnectionRequest, request),
      trustedCallerOf(request),
    ),
  )

  app.delete('/apps/:application/connection', (request) =>
    apps.connections.disconnect(nameOf(request), trustedCallerOf(request)),
  )

  app.delete('/apps/:application', (request) =>
    apps.remove(nameOf(request), queryValue(request, 'account'), trustedCallerOf(request)),
  )
}

/** @throws {PortError} 400 */
function given<Schema extends z.ZodType>(
  schema: Schema,
  { body }: FastifyRequest,
): z.output<Schema> {
  const checked = schema.safeParse(body)
  if (checked.success) return checked.data
  throw new PortError(400, `${describeIssues(checked.error, 'the body')}.`)
}
