/** Operations of kayenta on analyses and their measurements. */

import { isObject, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { askerOf, trustedCallerOf, userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, queryCount, queryValue, queryValues } from '@fairlead/ports/requests/request-values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { storeAccount } from './accounts.ts'
import { type Analyses, toView } from './analyses.ts'
import type { AnalysisOrder } from './analysis-order.ts'
import type { Analysis } from './analysis-store.ts'
import type { Configurations } from './configurations.ts'

export interface CanaryParts {
  readonly context: BackendContext
  readonly configurations: Configurations
  readonly analyses: Analyses
}

const mostListed = 500
/** What kayenta calls an analysis that belongs to nothing. */
const adHoc = 'ad-hoc'

export function mountAnalyses(app: FastifyInstance, parts: CanaryParts): void {
  const { configurations, analyses } = parts
  app.post('/canary', async (request) => {
    const config = requireField(request.body, 'canaryConfig')
    await checkConfiguration(parts, request, config, 'every')
    const order = toOrder(request, { config, request: requireField(request.body, 'executionRequest') })
    return { canaryExecutionId: await analyses.start(order) }
  })
  app.post('/canary/:configId', async (request) => {
    const configId = pathValue(request, 'configId')
    const config = configurations.require(configId)
    await checkConfiguration(parts, request, config, 'some')
    if (!isObject(request.body)) throw new PortError(400, 'The body must be an object with "scopes".')
    return { canaryExecutionId: await analyses.start(toOrder(request, { configId, config, request: request.body })) }
  })
  app.get('/canary/executions', (request) => {
    const limit = Math.min(mostListed, Math.max(1, queryCount(request, 'limit') ?? 20))
    const page = Math.max(1, queryCount(request, 'page') ?? 1)
    const statuses = queryValues(request, 'statuses').flatMap((text) => text.split(',').map((each) => each.trim().toUpperCase()))
    const applications = queryValues(request, 'application')
    return analyses.store
      .list({ applications, statuses: statuses.filter((each) => each !== ''), limit, offset: (page - 1) * limit })
      .map(toStored)
  })
  app.get('/canary/:id', async (request) => toStored(await requireAnalysis(parts, request, 'READ')))
  app.put('/pipelines/:id/cancel', async (request) => {
    const { id } = await requireAnalysis(parts, request, 'EXECUTE')
    analyses.cancel(id)
    return {}
  })
  app.get('/metricSetPairList/:id', async (request, reply) => {
    const id = pathValue(request, 'id')
    const missing = () => new PortError(404, `There are no measurements "${id}". They go with their analysis.`)
    const analysis = analyses.store.findMeasured(id)
    if (analysis === undefined) throw missing()
    await checkAccess(parts, request, analysis, 'READ')
    const content = await analyses.store.measurements(id)
    if (content === undefined) throw missing()
    return reply.type('application/json').send(content)
  })
}

function toStored(analysis: Analysis): JsonObject {
  return { ...toView(analysis), storageAccountName: storeAccount, configurationAccountName: storeAccount }
}

function requireField(body: unknown, field: 'canaryConfig' | 'executionRequest'): JsonObject {
  const value = isObject(body) ? body[field] : undefined
  if (!isObject(value)) throw new PortError(400, `The body needs "${field}", an object.`)
  return value
}

function toOrder(request: FastifyRequest, order: Pick<AnalysisOrder, 'configId' | 'config' | 'request'>): AnalysisOrder {
  return {
    ...order,
    application: textOf(queryValue(request, 'application')) ?? adHoc,
    parentPipelineExecutionId: textOf(queryValue(request, 'parentPipelineExecutionId')) ?? 'no-parent-pipeline-execution',
    metricsAccountName: textOf(queryValue(request, 'metricsAccountName')),
    user: userOf(request),
    identity: trustedCallerOf(request).identity,
  }
}

/** One that is stored belongs to each of its applications; others than these cannot be had by naming them. @throws {PortError} 403 */
async function checkConfiguration(
  { context }: CanaryParts,
  request: FastifyRequest,
  config: JsonObject,
  needed: 'every' | 'some',
): Promise<void> {
  const user = askerOf(request)
  const applications = Array.isArray(config['applications']) ? config['applications'].map(String) : []
  if (user === undefined || applications.length === 0) return
  const access = await requireAccess(context, user)
  if (applications[needed]((name) => access.mayOnApplication(name, 'READ'))) return
  const which = needed === 'every' ? 'all' : 'one'
  throw new PortError(
    403,
    `This needs READ on ${which} of the applications of the canary configuration: ${applications.join(', ')}.`,
    { exception: 'AccessDenied' },
  )
}

/** @throws {PortError} 404, 403 */
async function requireAnalysis(parts: CanaryParts, request: FastifyRequest, right: 'READ' | 'EXECUTE'): Promise<Analysis> {
  const id = pathValue(request, 'id')
  const analysis = parts.analyses.store.find(id)
  if (analysis === undefined) throw new PortError(404, `There is no canary analysis "${id}".`)
  await checkAccess(parts, request, analysis, right)
  return analysis
}

/** Users see what they have started, and what belongs to their applications. @throws {PortError} 403 */
async function checkAccess(
  { context }: CanaryParts,
  request: FastifyRequest,
  { order: { application, user: starter } }: Analysis,
  right: 'READ' | 'EXECUTE',
): Promise<void> {
  const user = askerOf(request)
  if (user === undefined || user === starter) return
  const access = await requireAccess(context, user)
  if (access.mayOnApplication(application, right)) return
  throw new PortError(403, `This needs ${right} on the application ${application}, to which the canary analysis belongs.`)
}
