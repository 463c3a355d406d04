/** Metrics of server groups, as load balancers and providers measure them. */

import { or, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { type Caller, itself, toCaller } from '@fairlead/ports/caller.ts'
import { z } from 'zod'
import {
  type MetricAccount,
  MetricError,
  type MetricQuestion,
  type MetricSeries,
  type MetricSourceType,
} from '../metric-source.ts'
import { type GroupPlace, GroupSamples } from '../samples.ts'
import { toValues } from '../series.ts'

/** A metric of a configuration. */
const toMetric = shape({ metricName: or(textOf, ''), account: textOf, cloudProvider: textOf })

const id = 'serverGroups'
const counted: ReadonlySet<string> = new Set(['requests', 'errors'])
const metricNames = ['requests', 'errors', 'errorPercent', 'latency', 'memory', 'cpu']
/** How often a server group that is compared is read, so that long comparisons have all of their time. */
const watchMs = 300_000

/** The server group is the scope and its region the location; `account` and `cloudProvider` are needed where several have the name. */
export const serverGroupSource: MetricSourceType = {
  id,
  keys: z.strictObject({}),
  toSettings: () => [],
  open: (_accounts, context) => [openAccount(context)],
}

function openAccount(context: BackendContext): MetricAccount {
  const samples = new GroupSamples(context)
  const read = async (place: GroupPlace, metric: string, as: Caller) =>
    samples.add(place, metric, await readPoints(context, place, metric, as))
  const watch = setInterval(() => {
    for (const { place, metric } of samples.watched()) {
      read(place, metric, itself).catch((error: Error) =>
        context.log.info({ place, metric, problem: error.message }, 'no metrics to keep'),
      )
    }
  }, watchMs).unref()
  return {
    name: 'server-groups',
    type: id,
    async fetch(question) {
      const { query, identity } = question
      const { metricName: metric } = toMetric(query)
      if (!metricNames.includes(metric))
        throw new MetricError(
          `There is no metric "${metric}" of server groups: "metricName" is one of ${metricNames.join(', ')}.`,
        )
      const place = await findPlace(context, question)
      const { startMs, endMs, stepMs } = question.scope
      const shown = `${metric} of ${place.name} in ${place.account}/${place.region}`
      const seriesOf = async (part: string): Promise<MetricSeries> => {
        await read(place, part, toCaller({ ...identity }))
        const gathering = counted.has(part) ? 'sum' : 'average'
        const points = samples.between(place, part, startMs, endMs)
        return {
          ...toValues(points, { startMs, stepMs, gathering }),
          stepMs,
          tags: {},
          query: shown,
        }
      }
      if (metric !== 'errorPercent') return [await seriesOf(metric)]
      const [errors, requests] = await Promise.all([seriesOf('errors'), seriesOf('requests')])
      return [percentOf(errors, requests)]
    },
    metricNames: async () => metricNames,
    close: () => clearInterval(watch),
  }
}

/** Names of Kubernetes begin with a kind, and need not tell the application. @throws {MetricError} when there is none, or are several */
async function findPlace(context: BackendContext, question: MetricQuestion): Promise<GroupPlace> {
  const { application, scope, query } = question
  const { scope: name, location, parameters } = scope
  const named = parseMoniker(name.slice(name.lastIndexOf(' ') + 1)).app
  const given = toMetric(query)
  const wanted = {
    name,
    region: location,
    account: parameters['account'] ?? given.account,
    provider: parameters['cloudProvider'] ?? given.cloudProvider,
  }
  const where = location === undefined ? '' : ` in ${location}`
  for (const app of new Set([application, ...(named === null ? [] : [named])])) {
    const found = (await groupsOf(context, app, question)).filter((group) =>
      Object.entries(wanted).every(
        ([field, value]) => value === undefined || group[field as keyof typeof group] === value,
      ),
    )
    if (found.length > 1)
      throw new MetricError(
        `There are ${found.length} server groups "${name}"${where}: set "account" in "extendedScopeParams".`,
      )
    const [group] = found
    if (group !== undefined) {
      const { provider, account, region } = group
      return { provider, account, region, name }
    }
  }
  throw new MetricError(`There is no server group "${name}"${where}.`)
}

/** Server groups that the user may see. @throws {MetricError} */
async function groupsOf(
  context: BackendContext,
  application: string,
  { identity }: MetricQuestion,
) {
  return context.ports.infrastructure
    .serverGroups(application, toCaller({ ...identity }))
    .catch((error: Error) => (isRefusal(error) ? [] : unreachable(error)))
}

function isRefusal(error: Error): error is PortError {
  return error instanceof PortError && error.status < 500
}

function unreachable(error: Error): never {
  throw new MetricError(`The infrastructure service cannot be asked: ${error.message}.`, true)
}

async function readPoints(
  context: BackendContext,
  { provider, account, region, name }: GroupPlace,
  metric: string,
  as: Caller,
) {
  const wanted = { provider, account, region, metric, serverGroup: name }
  const statistics = await context.ports.infrastructure
    .statistics(wanted, as)
    .catch((error: Error) => {
      if (error instanceof PortError) throw new MetricError(error.message, !isRefusal(error))
      return unreachable(error)
    })
  if (statistics === undefined)
    throw new MetricError(`There is no metric "${metric}" of ${name} in ${account}/${region}.`)
  return statistics.datapoints.flatMap(({ atMs, value }) =>
    atMs === undefined || value === undefined ? [] : [{ atMs, value }],
  )
}

function percentOf(part: MetricSeries, whole: MetricSeries): MetricSeries {
  const offset = Math.round((whole.startMs - part.startMs) / whole.stepMs)
  const values = whole.values.map((all, index) => {
    const some = part.values[index + offset] ?? Number.NaN
    return all === 0 ? Number.NaN : (some / all) * 100
  })
  return { ...whole, values }
}
