/** Search: applications and projects come from the definition store; nothing else exists without a provider. */
import { type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../json/values.ts'
import { loadAccess } from '../access.ts'
import { type BackendContext, BackendError, callerOf } from '../backend.ts'
import { type InfrastructureRoute, queryValue, queryValues } from './route.ts'

/** @see docs/contracts/infrastructure.md#search */
const search: InfrastructureRoute['answer'] = async (request, context) => {
  const types = queryValues(request, 'type').flatMap((value) => value.split(',').filter((type) => type !== ''))
  if (types.length === 0) throw new BackendError(400, 'The query parameter "type" is required.')
  const pageNumber = positive(queryValue(request, 'page'), 1)
  const pageSize = positive(queryValue(request, 'pageSize'), 10_000)
  const query = queryValue(request, 'q') ?? ''
  const access = await loadAccess(context, callerOf(request).user ?? 'anonymous')
  const found = (await Promise.all(types.map((type) => find(context, type, query))))
    .flat()
    .filter(({ application }) => typeof application !== 'string' || access.mayOnApplication(application, 'READ'))
  return [
    {
      pageNumber,
      pageSize,
      query,
      platform: queryValue(request, 'platform') ?? '',
      totalMatches: found.length,
      results: found.slice((pageNumber - 1) * pageSize, pageNumber * pageSize),
    },
  ]
}

async function find(context: BackendContext, type: string, query: string): Promise<JsonObject[]> {
  const searched = sources[type]
  if (searched === undefined || !Object.hasOwn(sources, type)) return []
  return rank(await loadAll(context, searched.path), query, searched.toHit)
}

interface Source {
  path: string
  toHit: (stored: JsonObject) => Hit
}

interface Hit {
  /** What the query is looked for in. */
  keys: string[]
  result: JsonObject
}

const sources: Record<string, Source> = {
  applications: {
    path: '/v2/applications?restricted=false',
    toHit(stored) {
      const application = (textOf(stored['name']) ?? '').toLowerCase()
      return {
        keys: [application],
        result: { ...stored, type: 'applications', provider: '', application, accounts: [], url: `/applications/${application}` },
      }
    },
  },
  projects: {
    path: '/v2/projects',
    toHit(stored) {
      const applications = textsOf(objectOf(stored['config'])['applications'])
      const result = { ...stored, type: 'projects', provider: '', applications, url: `/projects/${String(stored['id'])}` }
      return { keys: [textOf(stored['name']) ?? '', ...applications], result }
    },
  },
}

/** Hits in the order of where the query stands in them, then of their keys. */
function rank(stored: JsonObject[], query: string, toHit: Source['toHit']): JsonObject[] {
  const wanted = query.toLowerCase()
  return stored
    .map(toHit)
    .map((hit) => ({ ...hit, text: hit.keys.join(' ').toLowerCase() }))
    .filter(({ keys }) => keys.some((key) => key.toLowerCase().includes(wanted)))
    .sort((one, other) => one.text.indexOf(wanted) - other.text.indexOf(wanted) || (one.text < other.text ? -1 : 1))
    .map(({ result }) => result)
}

/** A source that fails contributes nothing. */
async function loadAll(context: BackendContext, path: string): Promise<JsonObject[]> {
  try {
    const answer = await context.call('front50', { method: 'GET', path })
    if (answer.status === 200) return objectsOf(answer.body)
    context.log.warn({ status: answer.status }, 'the definition store cannot be searched')
  } catch (error) {
    context.log.warn({ err: error }, 'the definition store cannot be searched')
  }
  return []
}

function positive(text: string | undefined, otherwise: number): number {
  const value = Number(text)
  return Number.isSafeInteger(value) && value > 0 ? value : otherwise
}

export const searchRoutes: InfrastructureRoute[] = [{ method: 'GET', path: '/search', answer: search }]
