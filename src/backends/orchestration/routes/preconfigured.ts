/** Additions to the engine, for the forms of the web UI: webhooks of the configuration, and none of the other kinds. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type BackendContext, trustedCallerOf } from '../../backend.ts'
import type { OutsideSettings, PreconfiguredWebhook } from '../../outside/settings.ts'
import { requireAccess } from '../../rights/access.ts'

/** Fields that a stage cannot change when the configuration has set them. */
const fixable = [
  'url',
  'method',
  'customHeaders',
  'payload',
  'waitForCompletion',
  'statusUrlResolution',
  'statusUrlJsonPath',
  'statusJsonPath',
  'progressJsonPath',
  'successStatuses',
  'canceledStatuses',
  'terminalStatuses',
  'cancelEndpoint',
  'cancelMethod',
  'cancelPayload',
] as const satisfies readonly (keyof PreconfiguredWebhook)[]

/** Lists of what an engine without plug-ins does not have. */
const emptyLists = ['/capabilities/deploymentMonitors', '/jobs/preconfigured', '/installedPlugins']

export function preconfiguredRoutes(app: FastifyInstance, context: BackendContext, outside: OutsideSettings): void {
  app.get('/webhooks/preconfigured', async (request) => (await readablePreconfigured(request, context, outside)).map(toView))
  for (const path of emptyLists) app.get(path, () => [])
}

/** Those that the caller may read. */
export async function readablePreconfigured(
  request: FastifyRequest,
  context: BackendContext,
  { preconfigured }: OutsideSettings,
): Promise<PreconfiguredWebhook[]> {
  const { user } = trustedCallerOf(request)
  const access = context.settings.authorization === true ? await requireAccess(context, user || 'anonymous') : undefined
  return preconfigured.filter(({ permissions }) => {
    const roles = permissions?.['READ'] ?? []
    return access === undefined || roles.length === 0 || access.hasRole(roles)
  })
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
    parameters: parameters.map((parameter, order) => ({ order, label: parameter.name, ...parameter })),
    parameterData: [],
  }
}
