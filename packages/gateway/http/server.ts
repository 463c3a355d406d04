/** The HTTP server: Fastify with the request steps and error responses. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { RequestOutcome } from '@fairlead/base/telemetry/log.ts'
import { offeredMethods } from '@fairlead/base/telemetry/methods.ts'
import type { RequestSpan } from '@fairlead/base/telemetry/open-tracing.ts'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerFactory,
  LogController,
} from 'fastify'
import { commonHeaders, type EchoedHeaders, sendError } from './answer.ts'
import type { BoundsOf } from './body-bounds.ts'
import { listenerOf } from './listeners.ts'
import { type OriginSettings, originOf } from './origin.ts'
import type { Site } from './page.ts'
import { RequestState, type RequestStep } from './request-state.ts'
import { checkPath, readTarget } from './request-target.ts'
import { anyPath, type FindRoute, maxParamLength, type Route } from './route.ts'
import { withoutSchemas } from './without-schemas.ts'

const clientGone = 499
const slash = 0x2f

interface HttpServerOptions {
  log: FastifyBaseLogger
  origin: OriginSettings
  ignoreTrailingSlash: boolean
  /** Paths that exist without the context path, too. */
  rootPaths: ReadonlySet<string>
  createMainServer: (handler: RequestListener) => Server
  echoedHeaders: EchoedHeaders
  boundsOf: BoundsOf
  site: Site
  nameOf?: (service: string) => string
  steps: readonly RequestStep[]
  onReceived: () => void
  onAnswered: (request: FastifyRequest, outcome: RequestOutcome) => void
  onError: (request: FastifyRequest, error: GatewayError) => void
  startSpan?: ((request: FastifyRequest) => RequestSpan | undefined) | undefined
  findRoute: FindRoute
  methodsOf: (path: string) => string[]
}

/** Marks a request that is rejected before it is routed: finding a route for a hostile path costs more than all else. */
const refusal = Symbol('refusal')

interface RefusedRequest {
  readonly error: GatewayError
  readonly path: string
}

type RefusableRequest = IncomingMessage & { [refusal]?: RefusedRequest }

export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const serverFactory: FastifyServerFactory<Server> = (handler) => options.createMainServer(handler)
  const server = Fastify({
    serverFactory,
    schemaController: withoutSchemas,
    logController: new LogController({ disableRequestLogging: true }),
    routerOptions: { maxParamLength },
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestIdHeader: false,
    genReqId: (raw) => requestIdOf(raw as unknown as IncomingMessage),
    rewriteUrl: (raw) => {
      const target = innerTarget(raw as unknown as IncomingMessage, options)
      if (!('error' in target)) return target.url
      Object.assign(raw, { [refusal]: target })
      return `/${target.query}`
    },
    frameworkErrors: (error, request, reply) => {
      request.state = createState(request, undefined, options)
      void sendError(request, reply, error)
    },
    // Connections are looked after by the one that adopted the server.
    clientErrorHandler: () => {},
  })
  server.decorateRequest('state')
  server.decorate('boundsOf', options.boundsOf)
  server.decorate('site', options.site)
  server.decorate('nameOf', options.nameOf ?? ((service) => service))
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', (_request, _payload, done) => done(null))
  addRequestHook(server, options)
  addAnswerHooks(server, options)
  return server
}

function addRequestHook(server: FastifyInstance, options: HttpServerOptions): void {
  const queueCompletion = createEndedQueue(options)
  server.addHook('onRequest', (request, reply, done) => {
    const { [refusal]: refused } = request.raw as RefusableRequest
    let route: Route | undefined
    let fault: unknown = refused?.error
    if (refused === undefined) {
      try {
        route = routeTo(request, options)
      } catch (error) {
        fault = error
      }
    }
    request.state = createState(request, route, options, refused?.path)
    request.log = options.log
    reply.log = options.log
    options.onReceived()
    const span = options.startSpan?.(request)
    if (span !== undefined) request.state.span = span
    // The framework reports finished answers only; a client that goes away must be counted out, too.
    reply.raw.on('close', () => queueCompletion(request, reply))
    if (fault !== undefined) throw fault
    // No login would change this answer.
    if (!offeredMethods.has(request.method))
      throw notOffered(request, options.methodsOf(request.state.path))
    runSteps(options, { request, reply, done }, 0)
  })
}

function addAnswerHooks(server: FastifyInstance, options: HttpServerOptions): void {
  server.addHook('onSend', (request, reply, _payload, done) => {
    for (const [name, value] of Object.entries(
      commonHeaders(request, options.echoedHeaders, reply.statusCode),
    )) {
      if (!reply.hasHeader(name)) reply.header(name, value)
    }
    done()
  })
  server.setErrorHandler(async (thrown, request, reply) => {
    // A method that the router has never heard of passes no step.
    request.state ??= createState(request, undefined, options)
    const gone = reply.raw.destroyed
    const error = await sendError(request, reply, thrown)
    if (!gone) options.onError(request, error)
    return reply
  })
}

interface HookCall {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly done: (error?: Error) => void
}

/** All steps at once, as far as none has to wait. A step that answers the request is the last. */
function runSteps(options: HttpServerOptions, call: HookCall, from: number): void {
  const { request, reply, done } = call
  const { steps } = options
  for (let index = from; index < steps.length; index++) {
    const running = (steps[index] as RequestStep).run(request, reply)
    if (running !== undefined) {
      running
        .then(() => {
          if (!reply.sent) runSteps(options, call, index + 1)
        })
        .catch(done)
      return
    }
    if (reply.sent) return
  }
  // Before the framework reads the body, which is not needed.
  if (request.state.route === undefined)
    throw notOffered(request, options.methodsOf(request.state.path))
  done()
}

function createEndedQueue({
  onAnswered,
}: HttpServerOptions): (request: FastifyRequest, reply: FastifyReply) => void {
  let ended: { request: FastifyRequest; reply: FastifyReply; answered: boolean }[] = []
  const tellAll = () => {
    const told = ended
    ended = []
    for (const { request, reply, answered } of told)
      onAnswered(request, outcomeOf(request, reply, answered))
  }
  return (request, reply) => {
    if (ended.length === 0) setImmediate(tellAll)
    ended.push({ request, reply, answered: reply.raw.headersSent })
  }
}

function outcomeOf(
  request: FastifyRequest,
  reply: FastifyReply,
  answered: boolean,
): RequestOutcome {
  const { raw } = reply
  return {
    status: answered ? raw.statusCode : clientGone,
    bytes: request.state.streamedBytes ?? announcedBytes(request, reply),
    complete: raw.writableFinished,
  }
}

function announcedBytes({ method }: FastifyRequest, reply: FastifyReply): number {
  return method === 'HEAD' ? 0 : Number(reply.getHeader('content-length') ?? 0)
}

function notOffered(request: FastifyRequest, methods: readonly string[]): GatewayError {
  if (methods.length === 0) return noRoute(request, request.state.path)
  return new GatewayError(
    'METHOD_NOT_ALLOWED',
    `${request.method} is not offered here; ${methods.join(', ')} are.`,
    {
      headers: { allow: methods.join(', ') },
    },
  )
}

const notOfferedPaths: readonly (readonly [path: string, reason: string])[] = [
  [
    '/mcp',
    'Fairlead does not offer the MCP server of Gate (mcp.server.enabled). Call the operations of /openapi.json instead.',
  ],
  [
    '/extensions',
    'Gate serves this path by plugins of its own (spinnaker.extensibility.plugins with an api-extension). They are programs for Java, ' +
      'which Fairlead does not run. Offer it by a service of your own, and forward to it with proxies.',
  ],
]

function noRoute({ method }: Pick<IncomingMessage, 'method'>, path = ''): GatewayError {
  const reason = notOfferedPaths.find(
    ([prefix]) => path === prefix || path.startsWith(`${prefix}/`),
  )?.[1]
  return new GatewayError(
    'NO_ROUTE',
    reason ?? `No operation has this path (${method}). GET /openapi.json lists all of them.`,
  )
}

function splitUrl(url: string): { path: string; query: string } {
  const mark = url.indexOf('?')
  return mark === -1
    ? { path: url, query: '' }
    : { path: url.slice(0, mark), query: url.slice(mark) }
}

function innerTarget(
  raw: IncomingMessage,
  options: HttpServerOptions,
): { readonly url: string } | (RefusedRequest & { readonly query: string }) {
  const target = readTarget(raw)
  if ('problem' in target) {
    const error = new GatewayError('BAD_ARGUMENT', target.problem, {
      headers: { connection: 'close' },
    })
    return { error, path: '/', query: '' }
  }
  const { contextPath } = options.origin
  const { path: sent, query } = splitUrl(target.url)
  const path = contextPath === '' && isInner(sent) ? sent : innerPath(sent, contextPath, options)
  if (path === undefined) return { error: noRoute(raw), path: sent, query }
  try {
    checkPath(path)
  } catch (error) {
    return { error: error as GatewayError, path, query }
  }
  return { url: path === sent ? target.url : path + query }
}

function isInner(path: string): boolean {
  return (
    path.charCodeAt(0) === slash &&
    (path.length === 1 || path.charCodeAt(path.length - 1) !== slash)
  )
}

/** The path below the context path, one trailing slash removed; undefined when it lies outside. */
function innerPath(
  path: string,
  contextPath: string,
  { ignoreTrailingSlash, rootPaths }: HttpServerOptions,
): string | undefined {
  const trim = (text: string) =>
    ignoreTrailingSlash && text.length > 1 && text.endsWith('/') && !text.endsWith('//')
      ? text.slice(0, -1)
      : text
  if (path === contextPath || path.startsWith(`${contextPath}/`))
    return trim(path.slice(contextPath.length) || '/')
  const atRoot = trim(path)
  return rootPaths.has(atRoot) ? atRoot : undefined
}

function routeTo(request: FastifyRequest, { findRoute }: HttpServerOptions): Route | undefined {
  const { url } = request.routeOptions
  if (url !== anyPath) return url === undefined ? undefined : { url, cost: 0 }
  const found = findRoute(request.method, request.url)
  if (found !== undefined) request.params = found.params
  return found?.route
}

function createState(
  { id, raw, url }: FastifyRequest,
  route: Route | undefined,
  { origin }: HttpServerOptions,
  path: string = splitUrl(url).path,
): RequestState {
  return new RequestState(id, listenerOf(raw), path, route, originOf(raw, origin))
}

/** A client may name its request; anything that could break a header or a log line is replaced. */
function requestIdOf(raw: IncomingMessage): string {
  const given = raw.headers['x-spinnaker-request-id']
  if (typeof given === 'string' && /^[\x21-\x7e]{1,200}$/.test(given)) return given
  const execution = raw.headers['x-spinnaker-execution-id']
  return typeof execution === 'string' && /^[\w-]{1,100}$/.test(execution)
    ? `${execution}:${randomUUID()}`
    : randomUUID()
}
