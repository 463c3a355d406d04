/** The embedded canary service: configurations, metrics accounts, judges and analyses, with the contract of kayenta. */

import type { Backend, BackendContext, OpenBackend } from '@fairlead/ports/backend.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, queryValue } from '@fairlead/ports/requests/request-values.ts'
import { openAccountAccess } from '@fairlead/ports/rights/account-use.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { MetricAccounts, toAnswer } from './accounts.ts'
import { Analyses } from './analyses.ts'
import { createCanaries, mountAnalyses } from './analysis-routes.ts'
import { analysisMigrations } from './analysis-store.ts'
import { Configurations, configurationMigrations, mountConfigurations } from './configurations.ts'
import { judgeName } from './judge/judge.ts'
import { sampleMigrations } from './samples.ts'

export const canariesBackend: Backend = {
  service: 'kayenta',
  migrations: configurationMigrations,
  partMigrations: { analyses: analysisMigrations, samples: sampleMigrations },
  open: openCanaries,
}

function openCanaries(context: BackendContext): OpenBackend {
  const configurations = new Configurations(context)
  const accounts = new MetricAccounts(context)
  const analyses = new Analyses(context, accounts)
  const parts = { context, configurations, analyses }
  return {
    ports: { canaries: createCanaries(parts) },
    routes(app) {
      mountConfigurations(app, configurations)
      mountSurroundings(app, context, accounts)
      mountAnalyses(app, parts)
    },
    start: () => analyses.resume(),
    close() {
      analyses.close()
      accounts.close()
    },
  }
}

function mountSurroundings(
  app: FastifyInstance,
  context: BackendContext,
  accounts: MetricAccounts,
): void {
  const accessFor = (request: FastifyRequest) => openAccountAccess(context, userOf(request))
  app.get('/credentials', async (request) => accounts.views(await accessFor(request)))
  app.get('/judges', () => [{ name: judgeName, visible: true }])
  // For operators: whether it answers, whoever may use it.
  app.get('/accounts/:account/health', async (request) => {
    const account = accounts.require(
      pathValue(request, 'account'),
      await openAccountAccess(context, undefined),
    )
    const names = await account.metricNames().catch((error: unknown) => {
      throw toAnswer(error)
    })
    return { metrics: names.length }
  })
  app.get('/metadata/metricsService', async (request) => {
    const wanted = queryValue(request, 'filter')?.toLowerCase() ?? ''
    const access = await accessFor(request)
    const names = await accounts
      .require(queryValue(request, 'metricsAccountName'), access)
      .metricNames()
      .catch((error: unknown) => {
        throw toAnswer(error)
      })
    return names.filter((name) => name.toLowerCase().includes(wanted)).map((name) => ({ name }))
  })
}
