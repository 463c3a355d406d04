/** Embedded definition store: applications, pipelines and other declarations of users and tools. */

import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { documentMigrations } from '@fairlead/base/stores/document-store.ts'
import type { Backend } from '@fairlead/ports/backend.ts'
import { queryValues } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance } from 'fastify'
import { maskDefinition } from '../pipelines/trigger-secrets.ts'
import { secretRoutes } from '../secrets/routes.ts'
import { secretMigrations } from '../secrets/secret-store.ts'
import { openSecrets } from '../secrets/secrets.ts'
import { applicationDefinitionRoutes, InvalidApplication } from './applications.ts'
import { createStoredDefinitions } from './as-port.ts'
import { checkSecretWriter, writerOf } from './authorization.ts'
import { createDefinitions, type Definitions } from './collections.ts'
import { heldMigrations } from './held-parts.ts'
import { recipientRoutes } from './notifications.ts'
import { permissionRoutes } from './permissions.ts'
import { pipelineRoutes } from './pipelines.ts'
import { projectDefinitionRoutes } from './projects.ts'
import { saveConfiguredAccounts, serviceAccountRoutes } from './service-accounts.ts'
import { snapshotRoutes } from './snapshots.ts'
import { strategyRoutes } from './strategies.ts'
import { templateRoutes } from './templates.ts'
import { versionedTemplateRoutes } from './versioned-templates.ts'

/** Families that only special deployments of an external store use; here they are empty. */
const emptyLists = [
  '/v2/tags',
  '/deliveries',
  '/pluginInfo',
  '/pluginBinaries',
  '/credentials',
  '/installedPlugins',
]

const allRoutes = [
  applicationDefinitionRoutes,
  permissionRoutes,
  pipelineRoutes,
  strategyRoutes,
  projectDefinitionRoutes,
  snapshotRoutes,
  serviceAccountRoutes,
  recipientRoutes,
  templateRoutes,
  versionedTemplateRoutes,
  definitionVersionRoutes,
]

export const definitionsBackend: Backend = {
  service: 'front50',
  migrations: documentMigrations,
  partMigrations: { secrets: secretMigrations, held: heldMigrations },
  open(context) {
    const definitions = createDefinitions(context)
    saveConfiguredAccounts(definitions)
    const secrets = openSecrets(context)
    const mention = context.db.prepare(
      'SELECT 1 FROM definitions_documents WHERE instr(document, ?) LIMIT 1',
    )
    return {
      isMentioned: (text) => mention.get(text) !== undefined,
      ports: { definitions: createStoredDefinitions(definitions), secrets },
      routes(app) {
        refuseOtherMethods(app)
        answerInvalidApplications(app)
        app.addHook('preSerialization', async (_request, _reply, payload) =>
          Array.isArray(payload) ? payload.map(maskDefinition) : maskDefinition(payload),
        )
        for (const addRoutes of allRoutes) addRoutes(app, definitions)
        secretRoutes(app, secrets, async (request, owner) =>
          checkSecretWriter(await writerOf(definitions, request), owner),
        )
        for (const path of emptyLists) app.get(path, () => [])
      },
    }
  },
}

/**
 * Broken rules of an application have a body without `message` and with a text as `status`.
 * @see docs/contracts/definitions.md#errors-of-applications
 */
function answerInvalidApplications(app: FastifyInstance): void {
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof InvalidApplication)) throw error
    return reply.code(400).send({ error: error.message, ...error.fields, status: 'BAD_REQUEST' })
  })
}

function definitionVersionRoutes(
  app: FastifyInstance,
  { applications, permissions, pipelines, strategies }: Definitions,
): void {
  /** One for each `application` of the query, in its order. */
  app.get('/versions', (request) =>
    queryValues(request, 'application').map((name) => {
      const key = foldName(name)
      const ofDocuments = [applications.modifiedMs(key), permissions.modifiedMs(key)]
      return [
        ...ofDocuments,
        pipelines.versionOfApplication(name),
        strategies.versionOfApplication(name),
      ].join('-')
    }),
  )
}

/** Call it before the routes are added. */
function refuseOtherMethods(app: FastifyInstance): void {
  const offered: { method: string; segments: string[] }[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) offered.push({ method: one, segments: url.split('/') })
  })
  app.setNotFoundHandler((request, reply) => {
    const segments = (request.url.split('?')[0] as string).replace(/\/$/, '').split('/')
    const methods = offered
      .filter((route) => fits(route.segments, segments))
      .map((route) => route.method)
    if (methods.length === 0) {
      throw new PortError(404, `No ${request.method} operation has this path.`, {
        exception: 'NotFound',
      })
    }
    const known = [...new Set(methods)].join(', ')
    reply.header('allow', known)
    throw new PortError(
      405,
      `This path is not offered with ${request.method}, only with ${known}.`,
      {
        exception: 'MethodNotAllowed',
      },
    )
  })
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => part.startsWith(':') || part === segments[index])
  )
}
