/** Metrics of New Relic by queries in NRQL: over NerdGraph, or over the older query API of Insights. */

import { asGiven, list, or, shape } from '@fairlead/base/json/shape.ts'
import {
  isObject,
  type JsonObject,
  numberOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import { httpAddress } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import { MetricError, type MetricQuestion, type OpenAccount } from '../metric-source.ts'
import { expandedTemplate } from '../query-template.ts'
import { type Point, toValues } from '../series.ts'
import {
  accountSecret,
  createSourceCalls,
  metricSource,
  revealFor,
  type SourceCall,
  sourceAccountFields,
} from './source-accounts.ts'

const insights = 'https://insights-api.newrelic.com'

const Account = z.strictObject({
  ...sourceAccountFields,
  endpoint: z
    .strictObject({
      baseUrl: httpAddress
        .default(insights)
        .describe(
          'Its address: `https://api.newrelic.com` or `https://api.eu.newrelic.com` for NerdGraph.',
        ),
    })
    .prefault({})
    .describe('Where New Relic is.'),
  apiKey: z
    .string()
    .min(1)
    .describe(
      'User key of NerdGraph, or query key of Insights; may be a reference such as `secret:new-relic`.',
    ),
  applicationKey: z
    .string()
    .regex(/^\d{1,18}$/, 'must be the number of the account')
    .describe('Number of the account.'),
  defaultScopeKey: accountSecret.describe(
    'Attribute with the scope, unless a request sets `_scope_key`.',
  ),
  defaultLocationKey: accountSecret.describe(
    'Attribute with the location, unless a request sets `_location_key`.',
  ),
})
type Account = z.infer<typeof Account>

/** Most that a query may answer with. */
const mostPoints = 366

const toInsights = shape({
  facets: asGiven,
  timeSeries: (value) =>
    objectsOf(value).map(({ results, ...times }) => ({ ...times, ...objectsOf(results)[0] })),
  results: objectsOf,
})
const toGraph = shape({
  errors: list(shape({ message: or(textOf, 'it gives no reason') })),
  data: shape({ actor: shape({ account: shape({ nrql: shape({ results: objectsOf }) }) }) }),
})
const toQuery = shape({ select: textOf, q: textOf })
const toKeys = shape({ scopeKey: [textOf, '_scope_key'], locationKey: [textOf, '_location_key'] })

const graphQuery =
  'query($id: Int!, $nrql: Nrql!) { actor { account(id: $id) { nrql(query: $nrql, timeout: 25) { results } } } }'

export const newRelicSource = metricSource({
  id: 'newrelic',
  title: 'New Relic',
  account: Account,
  open: openAccount,
})

function openAccount(account: Account, context: BackendContext): OpenAccount {
  const { name, endpoint, applicationKey } = account
  const isInsights = endpoint.baseUrl.includes('insights')
  const headers = async () => {
    const { apiKey } = await revealFor(context, name, account)
    return { [isInsights ? 'x-query-key' : 'api-key']: apiKey }
  }
  const { call, close } = createSourceCalls(context, {
    account: name,
    title: 'New Relic',
    baseUrl: endpoint.baseUrl,
    headers,
  })
  const ask = isInsights ? askInsights : askNerdGraph
  return {
    async fetch(question) {
      const stepMs = stepOf(question)
      const query = toNrql(question, account, stepMs)
      const points = (await ask(call, applicationKey, query)).flatMap(toPoints)
      return points.length === 0
        ? []
        : [{ ...toValues(points, { stepMs }), stepMs, tags: {}, query }]
    },
    async metricNames() {
      const [found] = await ask(
        call,
        applicationKey,
        'SELECT uniques(metricName) FROM Metric SINCE 1 hour ago',
      )
      return Object.values(found ?? {}).flatMap(textsOf)
    },
    close,
  }
}

/** @returns an object for each point, or one for the whole time @throws {MetricError} */
async function askInsights(call: SourceCall, account: string, nrql: string): Promise<JsonObject[]> {
  const body = await call({ path: pathTo`/v1/accounts/${account}/query` + formatQuery({ nrql }) })
  const { facets, timeSeries, results } = toInsights(body)
  if (facets !== undefined) throw noFacets()
  return timeSeries.length > 0 ? timeSeries : results
}

/** @throws {MetricError} */
async function askNerdGraph(
  call: SourceCall,
  account: string,
  nrql: string,
): Promise<JsonObject[]> {
  const body = await call({
    path: '/graphql',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: graphQuery, variables: { id: Number(account), nrql } }),
  })
  const { errors, data } = toGraph(body)
  if (errors[0] !== undefined)
    throw new MetricError(`New Relic rejects the query ${nrql}: ${errors[0].message}.`)
  const { results } = data.actor.account.nrql
  if (results.some((each) => each['facet'] !== undefined)) throw noFacets()
  return results
}

function noFacets(): MetricError {
  return new MetricError('A query with FACET has several series: write one metric for each.')
}

/** The value is the field that is no time, or the only member of one such as `percentile`. */
function toPoints(point: JsonObject): Point[] {
  const { beginTimeSeconds, endTimeSeconds: _end, inspectedCount: _inspected, ...values } = point
  const [value] = Object.values(values)
  const number = numberOf(isObject(value) ? Object.values(value)[0] : value)
  const seconds = numberOf(beginTimeSeconds)
  return number === undefined || seconds === undefined
    ? []
    : [{ atMs: seconds * 1000, value: number }]
}

/** A multiple of the wanted step with few enough points. */
function stepOf({ scope: { startMs, endMs, stepMs } }: MetricQuestion): number {
  return stepMs * Math.max(1, Math.ceil((endMs - startMs) / stepMs / mostPoints))
}

/** @throws {MetricError} */
function toNrql(question: MetricQuestion, account: Account, stepMs: number): string {
  const { query, scope } = question
  const own = expandedTemplate(question)
  if (own !== undefined) return own
  const { select, q } = toQuery(query)
  if (select === undefined)
    throw new MetricError(
      'The query needs a "select" such as SELECT count(*) FROM Transaction, or a "customInlineTemplate".',
    )
  const { scopeKey = account.defaultScopeKey, locationKey = account.defaultLocationKey } = toKeys(
    scope.parameters,
  )
  if (scopeKey === undefined)
    throw new MetricError(
      'The attribute with the scope is not known: set "_scope_key" in "extendedScopeParams", or "defaultScopeKey" of the account.',
    )
  const others = Object.entries(scope.parameters).filter(([key]) => !key.startsWith('_'))
  const conditions = [
    ...(q === undefined ? [] : [q]),
    ...others.map(([key, value]) => isLike(key, value)),
    isLike(scopeKey, scope.scope),
    ...(locationKey === undefined || scope.location === undefined
      ? []
      : [isLike(locationKey, scope.location)]),
  ]
  const [since, until] = [scope.startMs, scope.endMs].map((ms) => Math.floor(ms / 1000))
  const head = /^\s*select\s/i.test(select) ? select : `SELECT ${select} FROM Transaction`
  return `${head} TIMESERIES ${stepMs / 1000} seconds SINCE ${since} UNTIL ${until} WHERE ${conditions.join(' AND ')}`
}

function isLike(key: string, value: string): string {
  return `${key} LIKE '${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
