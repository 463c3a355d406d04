/** Operations change infrastructure and are followed as tasks. Each needs an account, so all are refused, and say why. */
import { fieldOf, isObject, type JsonObject, objectsOf, textOf } from '../../json/values.ts'
import { BackendError } from '../backend.ts'
import { unknownProvider } from './providers.ts'
import { type InfrastructureRoute, none, pathValue } from './route.ts'

/** A list of one-key objects, name to description; with the name in the path, the description itself. */
const refuse: InfrastructureRoute['answer'] = (request) => {
  const name = pathValue(request, 'operation')
  const operations = name === '' ? listedOperations(request.body) : [[name, request.body] as const]
  if (operations.length === 0) {
    throw new BackendError(400, 'Send a list of operations, each an object with one key: [{"<operation>": {…}}].')
  }
  const errors = operations.map(([operation, description]) => refusalOf(operation, description, pathValue(request, 'provider')))
  throw new BackendError(400, `Validation Failed: ${errors.join(' ')}`, { errors })
}

function listedOperations(body: unknown): (readonly [string, unknown])[] {
  return objectsOf(body).flatMap((operation: JsonObject) => Object.entries(operation).slice(0, 1))
}

function refusalOf(operation: string, description: unknown, provider: string): string {
  const account = ['credentials', 'account', 'accountName'].map((name) => textOf(fieldOf(description, name))).find(Boolean)
  const named = textOf(fieldOf(description, 'cloudProvider')) ?? provider
  if (account !== undefined) {
    return `${operation}: the account "${account}" does not exist: this installation has no infrastructure accounts.`
  }
  return named === '' ? `${operation}: names neither an account nor a cloud provider.` : `${operation}: ${unknownProvider(named)}`
}

const noTask: InfrastructureRoute['answer'] = (request) => {
  throw new BackendError(404, `Task not found (id: ${pathValue(request, 'id').replace(/:resume$/, '')})`)
}

/** Reads are always current here, so a refresh has nothing to do and nothing stays pending. */
const refreshed: InfrastructureRoute['answer'] = (request) => {
  if (request.body !== undefined && !isObject(request.body)) throw new BackendError(400, 'The body is not a JSON object.')
  return { cachedIdentifiersByType: {} }
}

export const operationRoutes: InfrastructureRoute[] = [
  { method: 'POST', path: '/ops', answer: refuse },
  { method: 'POST', path: '/ops/:operation', answer: refuse },
  { method: 'POST', path: '/:provider/ops', answer: refuse },
  { method: 'POST', path: '/:provider/ops/:operation', answer: refuse },
  { method: 'GET', path: '/task', answer: none },
  { method: 'GET', path: '/task/:id', answer: noTask },
  // The contract's path is `/task/{id}:resume`; the suffix arrives as part of the id.
  { method: 'POST', path: '/task/:id', answer: noTask },
  { method: 'POST', path: '/cache/:provider/:type', answer: refreshed },
  { method: 'GET', path: '/cache/:provider/:type', answer: none },
]
