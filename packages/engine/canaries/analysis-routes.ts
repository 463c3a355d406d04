/** Operations of kayenta on analyses and their measurements. */

import { definedOf, isObject, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ownNames } from '@fairlead/base/services/services.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { anonymous, type Caller } from '@fairlead/ports/caller.ts'
import { type Canaries, toCanaryAnalysis, toCanaryConfiguration } from '@fairlead/ports/canaries.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import {
  pathValue,
  queryCount,
  queryValue,
  queryValues,
} from '@fairlead/ports/requests/request-values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { storeAccount } from './accounts.ts'
import { type Analyses, toAnalysisView } from './analyses.ts'
import type { AnalysisOrder } from './analysis-order.ts'
import type { Analysis } from './analysis-store.ts'
import type { Configurations } from './configurations.ts'

interface CanaryParts {
  readonly context: BackendContext
  readonly configurations: Configurations
  readonly analyses: Analyses
}

const mostListed = 500
/** What kayenta calls an analysis that belongs to nothing. */
const adHoc = 'ad-hoc'

export function mountAnalyses(app: FastifyInstance, parts: CanaryParts): void {
  const { analyses } = parts
  app.post('/canary', async (request) => {
    const config = requireField(request.body, 'canaryConfig')
    const as = trustedCallerOf(request)
    await checkConfiguration(parts, as, config, 'every')
    const order = {
      ...originOf(request),
      config,
      request: requireField(request.body, 'executionRequest'),
    }
    return { canaryExecutionId: await analyses.start(withCaller(order, as)) }
  })
  app.post('/canary/:configId', async (request) => {
    if (!isObject(request.body))
      throw new PortError(400, 'The body must be an object with "scopes".')
    const order = {
      ...originOf(request),
      configId: pathValue(request, 'configId'),
      request: request.body,
    }
    return { canaryExecutionId: await startOfStored(parts, order, trustedCallerOf(request)) }
  })
  app.get('/canary/executions', (request) => {
    const limit = Math.min(mostListed, Math.max(1, queryCount(request, 'limit') ?? 20))
    const page = Math.max(1, queryCount(request, 'page') ?? 1)
    const statuses = queryValues(request, 'statuses').flatMap((text) =>
      text.split(',').map((each) => each.trim().toUpperCase()),
    )
    const applications = queryValues(request, 'application')
    return analyses.store
      .list({
        applications,
        statuses: statuses.filter((each) => each !== ''),
        limit,
        offset: (page - 1) * limit,
      })
      .map(toStored)
  })
  app.get('/canary/:id', async (request) =>
    toStored(
      await requireAnalysis(parts, pathValue(request, 'id'), trustedCallerOf(request), 'READ'),
    ),
  )
  app.put('/pipelines/:id/cancel', async (request) => {
    await cancelAnalysis(parts, pathValue(request, 'id'), trustedCallerOf(request))
    return {}
  })
  app.get('/metricSetPairList/:id', async (request, reply) => {
    const id = pathValue(request, 'id')
    const missing = () =>
      new PortError(404, `There are no measurements "${id}". They go with their analysis.`)
    const analysis = analyses.store.findMeasured(id)
    if (analysis === undefined) throw missing()
    await checkAccess(parts, trustedCallerOf(request), analysis, 'READ')
    const content = await analyses.store.measurements(id)
    if (content === undefined) throw missing()
    return reply.type('application/json').send(content)
  })
}

/** The analyses for other capabilities. */
export function createCanaries(parts: CanaryParts): Canaries {
  const { configurations } = parts
  return {
    name: ownNames.kayenta,
    pauseMs: 250,
    hasConfiguration: async ({ id }) => configurations.find(id) !== undefined,
    configurations: async ({ application }) =>
      configurations.list([application]).map(toCanaryConfiguration),
    start(asked, as) {
      const {
        configId,
        application,
        execution,
        metricsAccount,
        scopes,
        thresholds,
        siteLocal,
        progress,
      } = asked
      const order = {
        configId,
        application,
        parentPipelineExecutionId: execution,
        metricsAccountName: metricsAccount,
        request: {
          scopes,
          ...(thresholds !== undefined && { thresholds }),
          siteLocal,
          progress: definedOf(progress),
        },
      }
      return startOfStored(parts, order, as)
    },
    analysis: async ({ id }, as) =>
      toCanaryAnalysis(toAnalysisView(await requireAnalysis(parts, id, as, 'READ'))),
    // It may have ended.
    cancel: (id, as) =>
      cancelAnalysis(parts, id, as).catch((error: unknown) => {
        if (!(error instanceof PortError) || error.status !== 404) throw error
      }),
  }
}

async function cancelAnalysis(parts: CanaryParts, id: string, as: Caller): Promise<void> {
  await requireAnalysis(parts, id, as, 'EXECUTE')
  parts.analyses.cancel(id)
}

/** @returns its id @throws {PortError} */
async function startOfStored(
  parts: CanaryParts,
  order: Omit<AnalysisOrder, 'config' | 'user' | 'identity'> & { readonly configId: string },
  as: Caller,
): Promise<string> {
  const config = parts.configurations.require(order.configId)
  await checkConfiguration(parts, as, config, 'some')
  return parts.analyses.start(withCaller({ ...order, config }, as))
}

function toStored(analysis: Analysis): JsonObject {
  return {
    ...toAnalysisView(analysis),
    storageAccountName: storeAccount,
    configurationAccountName: storeAccount,
  }
}

function requireField(body: unknown, field: 'canaryConfig' | 'executionRequest'): JsonObject {
  const value = isObject(body) ? body[field] : undefined
  if (!isObject(value)) throw new PortError(400, `The body needs "${field}", an object.`)
  return value
}

function withCaller(
  order: Omit<AnalysisOrder, 'user' | 'identity'>,
  { user, identity }: Caller,
): AnalysisOrder {
  return { ...order, user: user || anonymous, identity }
}

function originOf(request: FastifyRequest) {
  return {
    application: textOf(queryValue(request, 'application')) ?? adHoc,
    parentPipelineExecutionId:
      textOf(queryValue(request, 'parentPipelineExecutionId')) ?? 'no-parent-pipeline-execution',
    metricsAccountName: textOf(queryValue(request, 'metricsAccountName')),
  }
}

/** One that is stored belongs to each of its applications; others than these cannot be had by naming them. @throws {PortError} 403 */
async function checkConfiguration(
  { context }: CanaryParts,
  { user }: Caller,
  config: JsonObject,
  needed: 'every' | 'some',
): Promise<void> {
  const applications = Array.isArray(config['applications'])
    ? config['applications'].map(String)
    : []
  if (applications.length === 0) return
  const access = await requireAccess(context, user || anonymous)
  if (applications[needed]((name) => access.mayOnApplication(name, 'READ'))) return
  const which = needed === 'every' ? 'all' : 'one'
  throw new PortError(
    403,
    `This needs READ on ${which} of the applications of the canary configuration: ${applications.join(', ')}.`,
    { exception: 'AccessDenied' },
  )
}

/** @throws {PortError} 404, 403 */
async function requireAnalysis(
  parts: CanaryParts,
  id: string,
  as: Caller,
  right: 'READ' | 'EXECUTE',
): Promise<Analysis> {
  const analysis = parts.analyses.store.find(id)
  if (analysis === undefined) throw new PortError(404, `There is no canary analysis "${id}".`)
  await checkAccess(parts, as, analysis, right)
  return analysis
}

/** Users see what they have started, and what belongs to their applications. @throws {PortError} 403 */
async function checkAccess(
  { context }: CanaryParts,
  as: Caller,
  { order: { application, user: starter } }: Analysis,
  right: 'READ' | 'EXECUTE',
): Promise<void> {
  const user = as.user || anonymous
  if (user === starter) return
  const access = await requireAccess(context, user)
  if (access.mayOnApplication(application, right)) return
  throw new PortError(
    403,
    `This needs ${right} on the application ${application}, to which the canary analysis belongs.`,
  )
}
