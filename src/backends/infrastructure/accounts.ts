/** Accounts: the places that can be deployed to. An installation without a provider has none. */
import { BackendError } from '../backend.ts'
import { type InfrastructureRoute, none, pathValue } from './route.ts'

const noAccount: InfrastructureRoute['answer'] = (request) => {
  throw new BackendError(404, `Account does not exist (name: ${pathValue(request, 'account')})`)
}

const notStored: InfrastructureRoute['answer'] = () => {
  throw new BackendError(
    400,
    'Account definitions cannot be stored in this installation. Connect an infrastructure service that stores them ' +
      '(services.clouddriver.baseUrl).',
  )
}

export const accountRoutes: InfrastructureRoute[] = [
  { method: 'GET', path: '/credentials', answer: none },
  { method: 'GET', path: '/credentials/:account', answer: noAccount },
  { method: 'GET', path: '/credentials/:account/authorized', answer: noAccount },
  { method: 'GET', path: '/credentials/type/:accountType', answer: none },
  { method: 'POST', path: '/credentials', answer: notStored },
  { method: 'PUT', path: '/credentials', answer: notStored },
  { method: 'DELETE', path: '/credentials/:account', answer: noAccount },
]
