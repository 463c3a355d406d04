/** Reads that name a cloud provider: its load balancers, images and charts. No provider is known here. */
import { BackendError } from '../backend.ts'
import { type InfrastructureRoute, notFound, pathValue, requiredQuery } from './route.ts'

/** Load balancers of a provider that does not exist are a mistake of the caller (docs/contracts/infrastructure.md#errors). */
const noLoadBalancers: InfrastructureRoute['answer'] = (request) => {
  throw new BackendError(400, unknownProvider(pathValue(request, 'provider')))
}

/** Images of a provider that does not exist are missing (docs/contracts/infrastructure.md#reads). */
const noImages: InfrastructureRoute['answer'] = (request) => {
  throw new BackendError(404, unknownProvider(pathValue(request, 'provider')))
}

const noTags: InfrastructureRoute['answer'] = (request, context) => {
  requiredQuery(request, 'account')
  requiredQuery(request, 'repository')
  return noImages(request, context)
}

export const providerRoutes: InfrastructureRoute[] = [
  { method: 'GET', path: '/:provider/loadBalancers', answer: noLoadBalancers },
  { method: 'GET', path: '/:provider/loadBalancers/:name', answer: noLoadBalancers },
  { method: 'GET', path: '/:provider/loadBalancers/:account/:region/:name', answer: noLoadBalancers },
  { method: 'GET', path: '/images/:provider/:id', answer: notFound('Image', 'id', 'provider') },
  ...['images', 'charts'].flatMap((kind): InfrastructureRoute[] => [
    { method: 'GET', path: `/:provider/${kind}/find`, answer: noImages },
    { method: 'GET', path: `/:provider/${kind}/tags`, answer: noTags },
    { method: 'GET', path: `/:provider/${kind}/:account/:region/:id`, answer: noImages },
  ]),
]

/** Messages and solutions for a provider that is not configured. */
export function unknownProvider(provider: string): string {
  return (
    `The cloud provider "${provider}" is not known: this installation has no infrastructure accounts. ` +
    'Connect an infrastructure service (services.clouddriver.baseUrl) that has some.'
  )
}
