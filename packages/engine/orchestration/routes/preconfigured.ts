/** For the forms of clients: stage types with their fields, and additions to the engine: webhooks and jobs of the configuration. */

import { type OutsideSettings, PreconfiguredWebhook } from '@fairlead/base/outside/settings.ts'
import { describeRefusal } from '@fairlead/base/settings/standalone.ts'
import { toStageTypesAnswer } from '@fairlead/model/stage-types/answer.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { PreconfiguredJob } from '../settings.ts'
import { describeMissingHost } from '../stages/builds/script.ts'
import { runCommandStage } from '../stages/infrastructure/jobs.ts'
import { createStageTypes } from '../stages/registry.ts'

/** Fields that a stage cannot change when the configuration has set them. */
const notFixable = {
  type: true,
  label: true,
  description: true,
  enabled: true,
  parameters: true,
  permissions: true,
} as const
const fixable = PreconfiguredWebhook.omit(notFixable).keyof().options

/** Lists of what an engine without plug-ins does not have. */
const emptyLists = ['/capabilities/deploymentMonitors', '/installedPlugins']

export function preconfiguredRoutes(
  app: FastifyInstance,
  context: BackendContext,
  outside: OutsideSettings,
): void {
  app.get('/webhooks/preconfigured', async (request) =>
    (await readablePreconfigured(request, context, outside)).map(toView),
  )
  app.get('/jobs/preconfigured', () => context.settings.manifests.jobs.map(toJobView))
  for (const path of emptyLists) app.get(path, () => [])
}

export function stageTypeRoutes(
  app: FastifyInstance,
  context: BackendContext,
  outside: OutsideSettings,
): void {
  const refusals = refusalsOf(context)
  app.get('/capabilities/stageTypes', async (request) => {
    const preconfigured = await readablePreconfigured(request, context, outside)
    const descriptions = [
      ...createStageTypes({ ...context.settings, preconfigured }).values(),
    ].flatMap(({ description }) => description ?? [])
    return toStageTypesAnswer(descriptions, refusals)
  })
}

/** Why stages of a type fail on this instance. */
function refusalsOf({ settings: { bakery, script } }: BackendContext): ReadonlyMap<string, string> {
  const missingHost = describeMissingHost(script)
  return new Map([
    ...(bakery?.allowsCommands === true
      ? []
      : [[runCommandStage.type, describeRefusal('The stage')] as const]),
    ...(missingHost === undefined ? [] : [['script', missingHost] as const]),
  ])
}

/** Webhooks and jobs that the caller may read. */
async function readablePreconfigured(
  request: FastifyRequest,
  context: BackendContext,
  { preconfigured }: OutsideSettings,
): Promise<PreconfiguredWebhook[]> {
  const { user } = trustedCallerOf(request)
  const access =
    context.settings.authorization === true
      ? await requireAccess(context, user || 'anonymous')
      : undefined
  return preconfigured.filter(({ permissions }) => {
    const roles = permissions?.['READ'] ?? []
    return access === undefined || roles.length === 0 || access.hasRole(roles)
  })
}

function toJobView(job: PreconfiguredJob) {
  const { label, description, type, waitForCompletion, parameters, producesArtifacts, uiType } = job
  const view = { label, description, type, waitForCompletion, noUserConfigurableFields: true }
  return { ...view, parameters, producesArtifacts, uiType }
}

function toView(webhook: PreconfiguredWebhook) {
  const { label, description, type, waitForCompletion = false, parameters } = webhook
  const preconfiguredProperties = fixable.filter((name) => webhook[name] !== undefined)
  return {
    label,
    description,
    type,
    waitForCompletion,
    preconfiguredProperties,
    noUserConfigurableFields: preconfiguredProperties.length === fixable.length,
    parameters: parameters.map((parameter, order) => ({
      order,
      label: parameter.name,
      ...parameter,
    })),
    parameterData: [],
  }
}
