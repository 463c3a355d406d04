/** Routes for logs of an application's instances, and for programs that clients run there. */
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { definedOf } from '@fairlead/base/json/values.ts'
import type { ExecInput, ExecRequest } from '@fairlead/base/net/exec-frames.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { findRegexProblem } from '@fairlead/base/regex/bounded-regex.ts'
import type { Access } from '@fairlead/ports/access.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { trustedCallerOf, userOf } from '@fairlead/ports/requests/request-caller.ts'
import {
  pathValue,
  queryCount,
  queryFlag,
  queryValue,
} from '@fairlead/ports/requests/request-values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { findOperationType } from '../operations.ts'
import { checkReadable, checkRight, type EmbeddedInfrastructure } from '../route.ts'
import { type InstanceLine, type LogQuery, streamLogs } from './log-stream.ts'
import {
  findServiceInstances,
  firstEnvironment,
  isReady,
  type ServiceInstance,
  type ServiceQuery,
} from './service-instances.ts'
import { type LineSink, Sessions } from './sessions.ts'

const lineType = 'application/x-ndjson'
/** A sign of life for proxies between. */
const signMs = 10_000
/** Time to start a command that runs once, an image pulled included. */
const startMs = 120_000
const longestStartMs = 60 * 60_000
const lookMs = 100
const maxArguments = 1000

const Size = z.strictObject({
  rows: z.int().min(1).max(10_000),
  columns: z.int().min(1).max(10_000),
})
const Place = {
  environment: z.string().min(1).optional(),
  service: z.string().min(1).optional(),
  command: z
    .array(z.string().max(128 * 1024))
    .max(maxArguments)
    .default([]),
  terminal: Size.optional(),
}
const ExecBody = z.looseObject({ ...Place, instance: z.string().min(1).optional() })
const RunBody = z.looseObject({
  ...Place,
  timeoutSeconds: z.int().min(1).optional(),
})
const InputBody = z.looseObject({
  stdin: z.string().optional(),
  end: z.literal(true).optional(),
  resize: Size.optional(),
  signal: z
    .string()
    .regex(/^SIG[A-Z0-9]+$/)
    .optional(),
})

export function createProgramRoutes(infrastructure: EmbeddedInfrastructure) {
  const { context, tasks } = infrastructure
  const sessions = new Sessions()
  const { now } = context

  async function logs(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const access = await requireAccess(context, userOf(request))
    const query = await withEnvironment(toLogQuery(request, now()), access)
    checkReadable(access, query.application, 'application')
    const find = () => findServiceInstances(infrastructure, query, access)
    if (query.follow !== true || query.instance !== undefined) requireSome(await find(), query)
    return stream(reply, async (sink) => {
      const write = (line: InstanceLine) => sink.write(`${formatLine(line)}\n`)
      await streamLogs({ query, find, now, signal: sink.signal, write })
    })
  }

  /** Where no environment is named: the first one, if the application has it. */
  async function withEnvironment<Q extends ServiceQuery>(query: Q, access: Access): Promise<Q> {
    if (query.environment !== undefined) return query
    const first = { ...query, environment: firstEnvironment }
    return (await findServiceInstances(infrastructure, first, access)).length > 0 ? first : query
  }

  async function exec(request: FastifyRequest): Promise<object> {
    const body = checkBody(ExecBody, request.body)
    const query = { ...toServiceQuery(request), ...definedOf(pickPlace(body)) }
    const chosen = await choose(request, { ...query, ...definedOf({ instance: body.instance }) })
    const connection = await chosen.programs.exec({ ...chosen.instance }, toExecRequest(body))
    const masks = await chosen.programs.masksOf({ ...chosen.instance })
    const { application } = query
    const id = sessions.open({ application, user: userOf(request), connection, masks })
    return { id, ...nameOf(chosen) }
  }

  /** The oldest ready instance where none is named. @throws {PortError} 403, 404 */
  async function choose(request: FastifyRequest, given: ServiceQuery): Promise<ServiceInstance> {
    const user = userOf(request)
    sessions.checkRoom(user)
    const access = await requireAccess(context, user)
    checkRight(access, { kind: 'application', name: given.application, right: 'WRITE' })
    const query = await withEnvironment(given, access)
    const found = requireSome(await findServiceInstances(infrastructure, query, access), query)
    const enabled = found.filter(({ group }) => !group.isDisabled)
    const ready = (enabled.length > 0 ? enabled : found).find((each) => isReady(each, now()))
    const chosen = ready ?? enabled[0] ?? found[0]
    if (chosen === undefined) throw missing(query)
    const { account } = chosen.group
    checkRight(access, { kind: 'account', name: account, right: 'WRITE' })
    return chosen
  }

  /** What a detached run is made of, as a stage. */
  async function runStage(request: FastifyRequest): Promise<object> {
    const body = checkBody(RunBody, request.body)
    const { programs, group, provider } = await chooseForRun(request, body)
    const { name, description } = await programs.toRun(group, {
      command: requireCommand(body.command),
      timeoutSeconds: body.timeoutSeconds,
      isAttached: false,
    })
    return { type: name, cloudProvider: provider.id, ...description }
  }

  async function chooseForRun(
    request: FastifyRequest,
    body: z.output<typeof RunBody>,
  ): Promise<ServiceInstance> {
    const query = { ...toServiceQuery(request), ...definedOf(pickPlace(body)) }
    const chosen = await choose(request, query)
    // The version that serves is the newest one that is enabled.
    const access = await requireAccess(context, userOf(request))
    const all = await findServiceInstances(infrastructure, query, access)
    const serving = all
      .filter(
        ({ group }) => !group.isDisabled && group.moniker.cluster === chosen.group.moniker.cluster,
      )
      .sort((one, other) => (other.group.createdMs ?? 0) - (one.group.createdMs ?? 0))
    return serving[0] ?? chosen
  }

  async function run(request: FastifyRequest): Promise<object> {
    const body = checkBody(RunBody, request.body)
    const { programs, group, provider } = await chooseForRun(request, body)
    const application = pathValue(request, 'app')
    const user = userOf(request)
    const { name, description } = await programs.toRun(group, {
      command: body.command,
      timeoutSeconds: body.timeoutSeconds,
      isAttached: true,
    })
    const operation = { provider: provider.id, name, description: { ...description, application } }
    const problems =
      findOperationType(infrastructure, operation)?.check(operation.description) ?? []
    if (problems.length > 0) throw new PortError(400, problems.join(' '))
    const identity = trustedCallerOf(request).identity
    const task = tasks.submit({
      ...{ requestId: undefined, isAttached: true, user, identity },
      operations: [operation],
    })
    const remove = (id: string) =>
      provider.removeJob({ account: group.account, location: group.region, id })
    const jobId = await startedJob(task, remove)
    const place = { account: group.account, region: group.region, id: jobId }
    const findJob = () => provider.jobs().find((job) => job.id === jobId)
    const onEnd = () => remove(jobId)
    try {
      await until(() => findJob()?.state !== 'Starting', 'the command has not been started')
      const connection = await programs.exec(place, toExecRequest(body))
      const masks = await programs.masksOf(place)
      const id = sessions.open({ application, user, connection, masks, onEnd })
      return { id, instance: jobId, account: group.account, region: group.region }
    } catch (error) {
      await onEnd()
      throw error
    }
  }

  /** @param remove Of a job that starts too late @throws {PortError} 502 with why it failed */
  async function startedJob(task: string, remove: (id: string) => unknown): Promise<string> {
    await tasks.whenOver(task, { withinMs: startMs, signal: AbortSignal.timeout(startMs) })
    const { id, message } = outcomeOf(task)
    if (id !== undefined) return id
    const forgotten = { withinMs: longestStartMs, signal: AbortSignal.timeout(longestStartMs) }
    tasks
      .whenOver(task, forgotten)
      .then(async () => {
        const late = outcomeOf(task).id
        if (late !== undefined) await remove(late)
      })
      .catch((error: unknown) =>
        context.log.warn({ err: error, task }, 'a command that started too late goes on'),
      )
    throw new PortError(502, message ?? `The command was not started within ${startMs / 1000} s.`)
  }

  function outcomeOf(task: string): { id: string | undefined; message: string | undefined } {
    const { resultObjects } = tasks.view(task) as {
      readonly resultObjects: readonly {
        deployedNames?: string[]
        deployedNamesByLocation?: Record<string, string[]>
        message?: string
      }[]
    }
    const [id] = resultObjects.flatMap(({ deployedNames = [], deployedNamesByLocation = {} }) =>
      deployedNames.length > 0 ? deployedNames : Object.values(deployedNamesByLocation).flat(),
    )
    return { id, message: resultObjects.find((result) => result.message !== undefined)?.message }
  }

  const ownerOf = (request: FastifyRequest) => ({
    application: pathValue(request, 'app'),
    user: userOf(request),
  })

  return {
    sessions,
    register(app: FastifyInstance): void {
      app.get('/apps/:app/logs', logs)
      app.post('/apps/:app/exec', exec)
      app.post('/apps/:app/run', run)
      app.post('/apps/:app/run/stage', runStage)
      app.get('/apps/:app/sessions/:session/output', (request, reply) => {
        const [id, owner] = [pathValue(request, 'session'), ownerOf(request)]
        sessions.check(id, owner)
        return stream(reply, (sink) => sessions.read(id, owner, sink))
      })
      app.post('/apps/:app/sessions/:session/input', async (request) => {
        const body = checkBody(InputBody, request.body)
        await sessions.send(pathValue(request, 'session'), ownerOf(request), toInputs(body))
        return {}
      })
    },
  }
}

function toServiceQuery(request: FastifyRequest): ServiceQuery {
  return {
    application: pathValue(request, 'app'),
    environment: queryValue(request, 'environment'),
    service: queryValue(request, 'service'),
    instance: queryValue(request, 'instance'),
  }
}

/** @throws {PortError} 400 */
function toLogQuery(request: FastifyRequest, nowMs: number): LogQuery {
  const grep = queryValue(request, 'grep')
  const problem = grep === undefined ? undefined : findRegexProblem(grep)
  if (problem !== undefined)
    throw new PortError(400, `The parameter "grep" is no regular expression: ${problem.message}`)
  return {
    ...toServiceQuery(request),
    sinceMs: timeIn(request, 'since', nowMs),
    untilMs: timeIn(request, 'until', nowMs),
    tail: queryCount(request, 'tail'),
    grep,
    previous: queryFlag(request, 'previous'),
    follow: queryFlag(request, 'follow'),
  }
}

const spanMs: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** A time, or how long ago it was. @throws {PortError} 400 */
function timeIn(request: FastifyRequest, name: string, nowMs: number): number | undefined {
  const text = queryValue(request, name)
  if (text === undefined || text === '') return undefined
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? []
  if (count !== undefined) return nowMs - Number(count) * (spanMs[unit] ?? 0)
  const at = /^\d{10,15}$/.test(text) ? Number(text) : Date.parse(text)
  if (Number.isFinite(at)) return at
  throw new PortError(
    400,
    `The parameter "${name}" must be a time such as 2026-01-31T12:00:00Z, or a duration such as 5m.`,
  )
}

function pickPlace({ environment, service }: { environment?: string; service?: string }) {
  return { environment, service }
}

function toExecRequest({ command, terminal }: ExecRequest): ExecRequest {
  return { command, terminal }
}

function requireCommand(command: readonly string[]): readonly string[] {
  if (command.length > 0) return command
  throw new PortError(400, 'command: it is missing.')
}

function toInputs({ stdin, end, resize, signal }: z.output<typeof InputBody>): ExecInput[] {
  return [
    ...(resize === undefined ? [] : [{ kind: 'resize', size: resize } as const]),
    ...(signal === undefined ? [] : [{ kind: 'signal', name: signal } as const]),
    ...(stdin === undefined
      ? []
      : [{ kind: 'stdin', bytes: Buffer.from(stdin, 'base64') } as const]),
    ...(end === undefined ? [] : [{ kind: 'end' } as const]),
  ]
}

function formatLine({ atMs, instance, cluster, position, text, isCut }: InstanceLine): string {
  const at = new Date(atMs).toISOString()
  return JSON.stringify({
    type: 'line',
    at,
    instance,
    cluster,
    position,
    text,
    ...(isCut === true && { cut: true }),
  })
}

function nameOf({ instance, group }: ServiceInstance): object {
  return { instance: instance.humanName, account: group.account, region: group.region }
}

/** @throws {PortError} 404 */
function requireSome(
  found: readonly ServiceInstance[],
  query: ServiceQuery,
): readonly ServiceInstance[] {
  if (found.length > 0) return found
  throw missing(query)
}

function missing({ application, environment, service, instance }: ServiceQuery): PortError {
  const named = [
    instance !== undefined && `instance ${instance}`,
    service !== undefined && `service ${service}`,
    environment !== undefined && `environment ${environment}`,
  ].filter((text) => text !== false)
  const of = named.length === 0 ? '' : ` (${named.join(', ')})`
  return new PortError(
    404,
    `${application} has no running instance${of} that you may read. See what runs: fairlead status`,
  )
}

async function until(holds: () => boolean, problem: string): Promise<void> {
  for (let waitedMs = 0; !holds(); waitedMs += lookMs) {
    if (waitedMs >= startMs) throw new PortError(504, `After ${startMs / 1000} s, ${problem}.`)
    await sleep(lookMs)
  }
}

/** Lines until the work is over or the client has gone. */
function stream(reply: FastifyReply, work: (sink: LineSink) => Promise<void>): FastifyReply {
  const body = new PassThrough()
  const left = new AbortController()
  reply.raw.once('close', () => left.abort())
  body.on('error', () => left.abort())
  const write = async (line: string) => {
    if (body.writable && !body.write(line))
      await once(body, 'drain', { signal: left.signal }).catch(() => {})
  }
  const sign = setInterval(() => void body.write('\n'), signMs)
  // The headers go out at once, so that a client knows that it follows.
  body.write('\n')
  work({ write, signal: left.signal })
    .catch((error: Error) => write(`${JSON.stringify({ error: error.message })}\n`))
    .finally(() => {
      clearInterval(sign)
      body.end()
    })
  return reply.type(lineType).send(body)
}
