/** Reads that name a cloud provider: its load balancers, images and charts. */
import { type JsonObject, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Access } from '@fairlead/ports/access.ts'
import {
  pathValue,
  pathValues,
  queryValue,
  requiredQuery,
} from '@fairlead/ports/requests/request-values.ts'
import type { CloudProvider, ImageQuery } from './provider.ts'
import {
  type Asked,
  accessOf,
  checkReadable,
  type EmbeddedInfrastructure,
  get,
  type InfrastructureRoute,
  isReadable,
  missing,
  providerOf,
  type RouteHandler,
  readableBalancers,
  unknownProvider,
} from './route.ts'
import { toLoadBalancerItems, toLoadBalancerView } from './views.ts'

/** One that does not exist is a mistake of the caller (400) or missing (404): docs/contracts/infrastructure.md#errors. */
function requireProvider(
  request: Asked,
  infrastructure: EmbeddedInfrastructure,
  status: 400 | 404,
): CloudProvider {
  const id = pathValue(request, 'provider')
  const provider = providerOf(infrastructure, id)
  if (provider !== undefined) return provider
  throw new PortError(status, unknownProvider(infrastructure, id))
}

const loadBalancers: RouteHandler = async (request, infrastructure) => {
  const provider = requireProvider(request, infrastructure, 400)
  const access = await accessOf(request, infrastructure)
  return toLoadBalancerItems(
    provider.loadBalancers().filter((balancer) => isReadable(access, balancer)),
  )
}

const loadBalancer: RouteHandler = async (request, infrastructure) => {
  const provider = requireProvider(request, infrastructure, 400)
  const named = provider.loadBalancers().filter(({ name }) => name === pathValue(request, 'name'))
  const access = await accessOf(request, infrastructure)
  const [item] = toLoadBalancerItems(named.filter((balancer) => isReadable(access, balancer)))
  if (item === undefined) throw missing(request, 'Load balancer', 'name')
  return item
}

const loadBalancerDetails: RouteHandler = async (request, infrastructure) => {
  const { account, region, name } = pathValues(request, 'account', 'region', 'name')
  const named = requireProvider(request, infrastructure, 400)
    .loadBalancers()
    .filter(
      (balancer) =>
        balancer.account === account && balancer.region === region && balancer.name === name,
    )
  return (await readableBalancers(request, infrastructure, named)).map(toLoadBalancerView)
}

const findImages: RouteHandler = async (request, infrastructure) => {
  const provider = requireProvider(request, infrastructure, 404)
  const access = await accessOf(request, infrastructure)
  const account = queryValue(request, 'account')
  if (account !== undefined && account !== '') checkReadable(access, account, 'account')
  return (provider.images?.find(toImageQuery(request)) ?? []).flatMap((image) =>
    readableImage(image, access),
  )
}

/** Lists the accounts that the caller may read; nothing of an image that only others have. */
export function readableImage(image: JsonObject, access: Access): JsonObject[] {
  const accounts = textsOf(image['accounts']).filter((account) =>
    access.mayOnAccount(account, 'READ'),
  )
  return accounts.length === 0 ? [] : [{ ...image, accounts }]
}

function toImageQuery(request: Asked): ImageQuery {
  const filters = Object.entries({ ...(request.query as object) }).filter(([name]) =>
    name.startsWith('tag:'),
  )
  return {
    text: queryValue(request, 'q'),
    region: queryValue(request, 'region') || undefined,
    account: queryValue(request, 'account') || undefined,
    tags: new Map(
      filters.map(([name, value]) => [
        name.slice('tag:'.length).toLowerCase(),
        String(value).toLowerCase(),
      ]),
    ),
  }
}

const imageTags: RouteHandler = async (request, infrastructure) => {
  const account = requiredQuery(request, 'account')
  const repository = requiredQuery(request, 'repository')
  const provider = requireProvider(request, infrastructure, 404)
  checkReadable(await accessOf(request, infrastructure), account, 'account')
  return provider.images?.tags(account, repository) ?? []
}

const imageDetails: RouteHandler = async (request, infrastructure) => {
  const { account, region, id } = pathValues(request, 'account', 'region', 'id')
  const found =
    requireProvider(request, infrastructure, 404).images?.details(account, region, id) ?? []
  if (found.length === 0) throw missing(request, 'Image', 'id', 'account', 'region')
  const access = await accessOf(request, infrastructure)
  return found.flatMap((image) => readableImage(image, access))
}

const noCharts: RouteHandler = (request, infrastructure) => {
  throw new PortError(404, unknownProvider(infrastructure, pathValue(request, 'provider')))
}

const noChartTags: RouteHandler = (request, infrastructure) => {
  requiredQuery(request, 'account')
  requiredQuery(request, 'repository')
  return noCharts(request, infrastructure)
}

export const imageSearch = get('/:provider/images/find', findImages)
export const imageById = get('/:provider/images/:account/:region/:id', imageDetails, ['account'])

export const providerRoutes: InfrastructureRoute[] = [
  get('/:provider/loadBalancers', loadBalancers),
  get('/:provider/loadBalancers/:name', loadBalancer),
  get('/:provider/loadBalancers/:account/:region/:name', loadBalancerDetails, ['account']),
  imageSearch,
  get('/:provider/images/tags', imageTags),
  imageById,
  get('/:provider/charts/find', noCharts),
  get('/:provider/charts/tags', noChartTags),
  get('/:provider/charts/:account/:region/:id', noCharts),
]
