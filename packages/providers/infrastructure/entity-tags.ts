/** Reads of entity tags. */
import { PortError } from '@fairlead/base/port-error.ts'
import { pathValue, queryValue, queryValues } from '@fairlead/ports/requests/request-values.ts'
import { accountsOfEntity, type EntityTags } from './entity-tag-store.ts'
import {
  accessOf,
  get,
  type InfrastructureRoute,
  mayRead,
  missing,
  type RouteHandler,
} from './route.ts'

const defaultMaxResults = 5000

const listed: RouteHandler = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  const maxResults = Number(queryValue(request, 'maxResults') ?? defaultMaxResults)
  const filters = createFilters(request)
  return infrastructure.entityTags
    .all()
    .filter((each) => filters.every((holds) => holds(each)))
    .filter((each) =>
      infrastructure.entityTags
        .applicationsOf(each)
        .every((name) => mayRead(access, name, 'application')),
    )
    .filter((each) =>
      accountsOfEntity(each).every((account) => access.mayOnAccount(account, 'READ')),
    )
    .slice(0, Number.isSafeInteger(maxResults) && maxResults >= 0 ? maxResults : defaultMaxResults)
}

const referenceFields = [
  'cloudProvider',
  'application',
  'entityType',
  'account',
  'region',
  'namespace',
] as const

function createFilters(request: Parameters<RouteHandler>[0]): ((tags: EntityTags) => boolean)[] {
  const same = (value: unknown, wanted: string) =>
    String(value).toLowerCase() === wanted.toLowerCase()
  const idPrefix = queryValue(request, 'idPrefix')
  const entityIds = queryValues(request, 'entityId').flatMap((value) => value.split(','))
  const tagFilters = Object.keys({ ...(request.query as object) }).filter((name) =>
    name.startsWith('tag:'),
  )
  return [
    ...referenceFields.flatMap((field) => {
      const wanted = queryValue(request, field)
      return wanted === undefined
        ? []
        : [({ entityRef }: EntityTags) => same(entityRef[field], wanted)]
    }),
    ({ entityRef }) =>
      entityIds.length === 0 || entityIds.some((id) => same(entityRef['entityId'], id)),
    ({ id }) => idPrefix === undefined || id.startsWith(idPrefix.replace(/\*$/, '').toLowerCase()),
    ...tagFilters.map((filter) => {
      const wanted = queryValue(request, filter) ?? '*'
      const name = filter.slice('tag:'.length)
      return ({ tags }: EntityTags) =>
        tags.some((tag) => same(tag.name, name) && (wanted === '*' || same(tag['value'], wanted)))
    }),
  ]
}

const one: RouteHandler = async (request, infrastructure) => {
  const found = infrastructure.entityTags.get(pathValue(request, '*'))
  if (found === undefined) throw missing(request, 'Entity tags', '*')
  const access = await accessOf(request, infrastructure)
  const isReadable =
    infrastructure.entityTags
      .applicationsOf(found)
      .every((name) => mayRead(access, name, 'application')) &&
    accountsOfEntity(found).every((account) => mayRead(access, account, 'account'))
  // The names are those of the tags, which the caller may not know.
  if (!isReadable) throw new PortError(403, 'Access is denied.', { exception: 'AccessDenied' })
  return found
}

export const tagsOfEntities = get('/tags', listed)

export const entityTagRoutes: InfrastructureRoute[] = [tagsOfEntities, get('/tags/*', one)]
