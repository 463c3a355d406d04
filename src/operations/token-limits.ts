/** What an API token may be used for: checked once the operation is known, and again when its body has been read. */
import { GatewayError } from '../errors.ts'
import { pathTo } from '../http/encode-path.ts'
import type { RequestState } from '../http/request-state.ts'
import { jsonObject } from '../upstreams/answer-form.ts'
import { readJson } from '../upstreams/upstreams.ts'
import { subjectsIn } from './body-subjects.ts'
import type { Operation, OperationRequest } from './operation.ts'
import { isFields } from './upstream-shape.ts'

/** Who am I, what are you, what may I: clients ask that before anything else, and it tells what the caller may know. */
const alwaysAllowed = new Set(['/version', '/auth/user', '/auth/explain'])
const readMethods: readonly string[] = ['GET', 'HEAD']

/** Reads that concern no application: accounts, networks, images, and what the installation can do. */
const sharedReads =
  /^\/(?:credentials|networks|vpcs|subnets|images|instanceTypes|bakery|capabilities|notifications\/metadata)(?:\/|$)/

/** A token may replace itself, whatever it is for. */
const ownRotation = '/auth/apiTokens/{id}/rotate'

/** Operations of which the body alone says which application they are about. */
const namedByBody: ReadonlySet<string> = new Set([
  '/pipelines',
  '/pipelines/start',
  '/pipelines/bulksave',
  '/strategies',
  '/tasks',
])

/** Operations of which the body may change or start definitions by their ids. */
const holdsDefinitions: ReadonlySet<string> = new Set([...namedByBody, '/applications/{application}/tasks'])

/** Paths with the id of an execution, a definition or a task, of which the service knows the application. */
const executionPath = /^(?:\/applications\/\{application\})?\/pipelines\/\{id\}(?:\/|$)/
const taskPath = /^(?:\/applications\/\{application\})?\/tasks\/\{id\}(?:\/|$)/

/** For which of its limits a token is not meant for an operation, in words; empty when nothing speaks against it. */
export function explainTokenLimits(
  operation: Operation,
  token: NonNullable<RequestState['token']>,
  application: string | undefined,
): string[] {
  const limits: string[] = []
  if (token.readOnly && !isRead(operation)) limits.push('it may only read')
  if (alwaysAllowed.has(operation.path)) return limits
  if (token.operations?.includes(operation.id) === false) limits.push(`it counts for ${token.operations.join(', ')} only`)
  if (application !== undefined && token.applications?.includes(application.trim().toLowerCase()) === false) {
    limits.push(`it counts for the applications ${token.applications.join(', ')} only`)
  }
  return limits
}

/** @throws {GatewayError} TOKEN_LIMITED when the token of the request is not meant for this */
export async function checkTokenLimits(operation: Operation, request: OperationRequest): Promise<void> {
  const { token } = request.state
  if (token === undefined) return
  if (token.readOnly && !isRead(operation)) {
    throw limited('it may only read. Create one that is not read-only')
  }
  if (alwaysAllowed.has(operation.path)) return
  if (token.operations?.includes(operation.id) === false) {
    throw limited(`the operation ${operation.id} is not among those that it was created for`)
  }
  if (token.applications !== undefined) await checkApplications(operation, request)
}

/** Whether a body has to be read here, because it may name applications that the token is not meant for. */
export function limitsBody({ token }: RequestState): boolean {
  return token?.applications !== undefined
}

/** @throws {GatewayError} TOKEN_LIMITED when the body is about another application, or about none although it has to name one */
export async function checkTokenBody(operation: Operation, request: OperationRequest, body: unknown): Promise<void> {
  if (!limitsBody(request.state)) return
  const { applications, definitions, changesShared } = subjectsIn(body)
  if (applications.size === 0 && namedByBody.has(operation.path)) throw limited('the body does not name the application')
  for (const application of applications) checkTokenApplication(request.state, application)
  if (!holdsDefinitions.has(operation.path)) return
  if (changesShared) throw limited('a job changes what belongs to no single application')
  for (const id of definitions) await checkDefinition(request, id)
}

/** @throws {GatewayError} TOKEN_LIMITED when the token of the request is not meant for the application */
export function checkTokenApplication({ token }: RequestState, application: string): void {
  if (token?.applications?.includes(application.trim().toLowerCase()) !== false) return
  throw limited(`it is not meant for the application ${application}`)
}

/** Evaluating an expression changes nothing, whatever the method; a GET that is passed on as something else does. */
function isRead({ method, path, forward }: Operation): boolean {
  if (path.endsWith('/evaluateExpression')) return true
  return readMethods.includes(method) && readMethods.includes(forward?.method ?? 'GET')
}

async function checkApplications(operation: Operation, request: OperationRequest): Promise<void> {
  const { path, query, state } = request
  const reads = readMethods.includes(operation.method)
  const named = [path['application'], path['applicationName'], reads ? query['application'] : undefined]
    .filter((name) => name !== undefined)
    .map(String)
  for (const application of named) checkTokenApplication(state, application)
  const id = path['id'] ?? ''
  if (executionPath.test(operation.path) && !isDefinitionUpdate(operation)) {
    for (const one of [id, query['executionId']].filter((each) => typeof each === 'string')) {
      await checkFound(request, pathTo`/pipelines/${one}`, `the execution ${one}`)
    }
    return
  }
  if (taskPath.test(operation.path)) return checkFound(request, pathTo`/tasks/${id}`, `the task ${id}`)
  if (named.length > 0 || namedByBody.has(operation.path) || operation.path === ownRotation) return
  if (reads && sharedReads.test(operation.path)) return
  throw limited('this operation does not say which application it is about')
}

/** The id in this path is that of a definition, and the orchestrator knows none of those. */
function isDefinitionUpdate({ method, path }: Operation): boolean {
  return method === 'PUT' && path === '/pipelines/{id}'
}

async function checkFound(request: OperationRequest, path: string, what: string): Promise<void> {
  const answer = await request.call('orca', { path })
  const found = answer.status === 404 ? undefined : readJson(answer, 'orca')
  const application = isFields(found) ? found['application'] : undefined
  if (typeof application !== 'string') throw limited(`nobody says to which application ${what} belongs`)
  checkTokenApplication(request.state, application)
}

/** A definition that is there already may be saved again by its own application only. */
async function checkDefinition(request: OperationRequest, id: string): Promise<void> {
  if (id.includes('${')) throw limited('an expression names a pipeline')
  const answer = await request.call('front50', { path: pathTo`/pipelines/${id}/get` })
  if (answer.status === 404) return
  const found = readJson(answer, 'front50', jsonObject)
  const application = isFields(found) ? found['application'] : undefined
  if (typeof application === 'string') checkTokenApplication(request.state, application)
}

function limited(problem: string): GatewayError {
  return new GatewayError('TOKEN_LIMITED', `The API token does not allow this: ${problem}.`)
}
