/** Operations change infrastructure and are followed as tasks: docs/contracts/infrastructure.md#operations. */
import {
  isObject,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ownAccountAdvice, ownAccounts } from '@fairlead/model/rights/built-in-roles.ts'
import { type Access, lackingOf } from '@fairlead/ports/access.ts'
import { accountOf } from '@fairlead/ports/cloud-values.ts'
import { pathValue, queryValue } from '@fairlead/ports/requests/request-values.ts'
import { applicationsOf, type OperationType } from './operation-type.ts'
import {
  type Asked,
  accessOf,
  checkReadable,
  type EmbeddedInfrastructure,
  get,
  type InfrastructureRoute,
  none,
  providerOf,
  type RouteHandler,
  unknownProvider,
} from './route.ts'
import type { SubmittedOperation } from './tasks.ts'

/** All operations are checked before the first one runs. */
const submit: RouteHandler = async (request, infrastructure) => {
  const requestId = queryValue(request, 'clientRequestId')
  const operations = submittedOperations(request)
  // A request that may have been sent is found without its operations, or does nothing once it comes.
  const isClaim =
    requestId !== undefined && Array.isArray(request.body) && request.body.length === 0
  const refused = isClaim ? [] : await refusals(operations, request, infrastructure)
  if (refused.length > 0) throw validationFailed(refused)
  const known = requestId === undefined ? undefined : infrastructure.tasks.idOf(requestId)
  if (known !== undefined) return resource(known)
  const errors = problemsOf(operations, infrastructure)
  if (errors.length > 0) throw validationFailed(errors)
  const { user, as } = request
  return resource(
    infrastructure.tasks.submit({ requestId, user, identity: as.identity, operations }),
  )
}

const previewTask: RouteHandler = async (request, infrastructure) => {
  const operations = submittedOperations(request)
  const refused = await refusals(operations, request, infrastructure)
  return { errors: refused.length > 0 ? refused : problemsOf(operations, infrastructure) }
}

/** Why operations may not even be looked at. @throws {PortError} 400 when there are none */
async function refusals(
  operations: readonly SubmittedOperation[],
  request: Asked,
  infrastructure: EmbeddedInfrastructure,
): Promise<string[]> {
  if (operations.length === 0) {
    throw new PortError(
      400,
      'Send a list of operations, each an object with one key: [{"<operation>": {…}}].',
    )
  }
  const access = await accessOf(request, infrastructure)
  return operations.flatMap((operation) => refusalsOf(operation, infrastructure, access))
}

function problemsOf(
  operations: readonly SubmittedOperation[],
  infrastructure: EmbeddedInfrastructure,
): string[] {
  return operations.flatMap((operation) => {
    const { name, description } = operation
    return findOperationType(infrastructure, operation)!
      .check(description)
      .map((problem) => `${name}: ${problem}`)
  })
}

function resource(id: string): JsonObject {
  return { id, resourceUri: `/task/${id}` }
}

function validationFailed(errors: readonly string[]): PortError {
  return new PortError(400, `Validation Failed: ${errors.join(' ')}`, { errors })
}

function submittedOperations(request: Asked): SubmittedOperation[] {
  const named = objectsOf(request.body).flatMap((operation) =>
    Object.entries(operation).slice(0, 1),
  )
  return named.map(([name, value]) => {
    const description = objectOf(value)
    const provider = pathValue(request, 'provider') || textOf(description['cloudProvider']) || ''
    return { provider: isGeneral(name) ? '' : provider, name, description }
  })
}

function isGeneral(name: string): boolean {
  return /EntityTags$/.test(name)
}

export function findOperationType(
  { providers, entityTags }: Pick<EmbeddedInfrastructure, 'providers' | 'entityTags'>,
  { provider, name }: Pick<SubmittedOperation, 'provider' | 'name'>,
): OperationType | undefined {
  const types =
    provider === ''
      ? entityTags.operations
      : providers.find(({ id }) => id === provider.toLowerCase())?.operations
  return types !== undefined && Object.hasOwn(types, name) ? types[name] : undefined
}

function refusalsOf(
  operation: SubmittedOperation,
  infrastructure: EmbeddedInfrastructure,
  access: Access,
): string[] {
  const { provider, name, description } = operation
  const type = findOperationType(infrastructure, operation)
  if (provider !== '') {
    const known = providerOf(infrastructure, provider)
    if (known === undefined) return [`${name}: ${unknownProvider(infrastructure, provider)}`]
    if (type === undefined)
      return [`${name}: ${describeChoice(name, 'an operation', Object.keys(known.operations))}`]
    const account = accountOf(description)
    if (account === undefined) return [`${name}: names no account; write it into "credentials".`]
    if (!known.accounts.some((one) => one.name === account)) {
      return [`${name}: the account "${account}" does not exist at the provider ${known.id}.`]
    }
  }
  if (type === undefined) return [`${name}: names neither an account nor a cloud provider.`]
  const own = ownAccounts(infrastructure.context.settings.infrastructure).filter(
    ({ isOpen }) => isOpen,
  )
  // With READ alone, it is most often the default of built-in roles that denies.
  const isOwn = (name: string) =>
    own.some((account) => account.name === name) && access.mayOnAccount(name, 'READ')
  return deniedBy(access, description, type).map(([name, denial]) =>
    isOwn(name) ? `${denial}: ${ownAccountAdvice}.` : denial,
  )
}

/** Each operation needs WRITE on its account, on those that it takes from, and on every application whose resources it names. */
function deniedBy(
  access: Access,
  description: JsonObject,
  type: OperationType,
): (readonly [name: string, denial: string])[] {
  const own = accountOf(description)
  const accounts = new Set([
    ...(own === undefined ? [] : [own]),
    ...(type.accounts?.(description) ?? []),
  ])
  const denials = (
    kind: string,
    names: Iterable<string>,
    has: (one: Access, name: string) => boolean,
  ) =>
    [...names]
      .filter((name) => !has(access, name))
      .map((name) => {
        const lacking =
          access.each &&
          `: ${lackingOf(access, (one) => has(one, name))}, who steered the run or started it, has no WRITE.`
        return [
          kind === 'account' ? name : '',
          `Access denied to ${kind} ${name}${lacking ?? ''}`,
        ] as const
      })
  return [
    ...denials('account', accounts, (one, name) => one.mayOnAccount(name, 'WRITE')),
    ...denials('application', applicationsOf(type, description), (one, name) =>
      one.mayOnApplication(name, 'WRITE'),
    ),
  ]
}

/** Any stage may name its id: the user who has submitted it reads it, and readers of all its applications, or else of its accounts. */
const task: RouteHandler = async (request, infrastructure) => {
  const id = pathValue(request, 'id')
  const [found, subject] = [infrastructure.tasks.view(id), infrastructure.tasks.subjectOf(id)]
  if (found === undefined || subject === undefined)
    throw new PortError(404, `Task not found (id: ${id})`)
  if (subject.user === request.user) return found
  const access = await accessOf(request, infrastructure)
  for (const name of subject.applications) checkReadable(access, name, 'application')
  if (subject.applications.length === 0)
    for (const name of subject.accounts) checkReadable(access, name, 'account')
  return found
}

/** Reads are always current here, so a refresh has nothing to do and nothing stays pending. */
const refreshed: RouteHandler = (request) => {
  if (request.body !== undefined && !isObject(request.body))
    throw new PortError(400, 'The body is not a JSON object.')
  return { cachedIdentifiersByType: {} }
}

export const submission: InfrastructureRoute = { method: 'POST', path: '/ops', answer: submit }
/** Asked by the port alone. */
export const preview: InfrastructureRoute = {
  method: 'POST',
  path: '/judge/:provider',
  answer: previewTask,
}
export const taskById = get('/task/:id', task)

export const operationRoutes: InfrastructureRoute[] = [
  submission,
  { method: 'POST', path: '/:provider/ops', answer: submit },
  taskById,
  { method: 'POST', path: '/cache/:provider/:type', answer: refreshed },
  get('/cache/:provider/:type', none),
]
