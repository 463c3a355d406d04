/** The embedded canary service: configurations, metrics accounts, judges and analyses, with the contract of kayenta. */
import type { FastifyInstance } from 'fastify'
import type { Backend, BackendContext, OpenBackend } from '../backend.ts'
import { queryValue } from '../requests/request-values.ts'
import { MetricAccounts, toAnswer } from './accounts.ts'
import { Configurations, configurationMigrations, mountConfigurations } from './configurations.ts'
import { sampleMigrations } from './samples.ts'

export const canariesBackend: Backend = {
  service: 'kayenta',
  migrations: configurationMigrations,
  partMigrations: { samples: sampleMigrations },
  open: openCanaries,
}

function openCanaries(context: BackendContext): OpenBackend {
  const configurations = new Configurations(context)
  const accounts = new MetricAccounts(context)
  return {
    routes(app) {
      mountConfigurations(app, configurations)
      mountSurroundings(app, accounts)
    },
    close: () => accounts.close(),
  }
}

function mountSurroundings(app: FastifyInstance, accounts: MetricAccounts): void {
  app.get('/credentials', () => accounts.views())
  app.get('/judges', () => [{ name: 'NetflixACAJudge-v1.0', visible: true }])
  app.get('/metadata/metricsService', async (request) => {
    const wanted = queryValue(request, 'filter')?.toLowerCase() ?? ''
    const names = await accounts
      .require(queryValue(request, 'metricsAccountName'))
      .metricNames()
      .catch((error: unknown) => {
        throw toAnswer(error)
      })
    return names.filter((name) => name.toLowerCase().includes(wanted)).map((name) => ({ name }))
  })
}
