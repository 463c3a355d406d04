/** The gateway about itself: version, health, metrics, the API document, its reference page, and what the doctor finds. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { AnyObject, flagModel, model, TextList, textModel } from '@fairlead/base/json/schemas.ts'
import { appFileJsonSchema } from '@fairlead/model/app-file/json-schema.ts'
import { z } from 'zod'
import { parseAccept } from '../../http/parse-accept.ts'
import { createReadFilter } from '../access/application-access.ts'
import { isMetByToken } from '../access/token-limits.ts'
import { get, operationsWith } from '../declare.ts'
import { aboutGateway, adminOnly, open } from '../demands.ts'
import { ExaminationModel } from '../examination.ts'
import { DirectAnswer, type Operation, type OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { referencePage, referenceScript } from '../serving/reference-page.ts'

const ApiDocument = model('ApiDocument', { openapi: z.string(), info: AnyObject, paths: AnyObject })
const Status = z
  .strictObject({
    status: z.enum(['UP', 'DOWN']),
    waitingFor: TextList.optional().describe('What readiness waits for; for users.'),
    troubles: TextList.optional().describe(
      'What is out of order although requests are served; for users.',
    ),
  })
  .meta({ id: 'Health' })

/** Open paths of probes and scrapers, which talk to an instance itself: they are answered without the context path, too. */
export const probePaths: ReadonlySet<string> = new Set([
  '/health',
  '/livez',
  '/readyz',
  '/spectator/metrics',
])

const exposition = operationsWith({
  demands: aboutGateway,
  answer: z.string(),
  answerType: 'text/plain',
  handle: answerMetrics,
})

export const systemOperations: Operation[] = [
  get('getVersionUsingGET', '/version', 'Get the version', {
    demands: open('describes the caller'),
    handle: async (_request, platform) => ({ version: platform.version }),
    answer: z.object({ version: z.string() }),
  }),
  get('healthUsingGET', '/health', 'Check health', {
    demands: aboutGateway,
    description:
      'Health for load balancers, without login: 503 while the gateway or, on request, a service is down.',
    query: {
      downstreamServices: flagModel
        .default(false)
        .describe('Counts the last known health of the services.'),
      checkDownstreamServices: flagModel
        .default(false)
        .describe('Has the services checked again in the next cycle.'),
    },
    cost: 0,
    answer: Status,
    errors: { 503: 'Down.' },
    errorAnswers: { 503: Status },
    handle: answerHealth,
  }),
  // Below /health everything needs a login, as in Gate; probes, which cannot log in, have paths of their own.
  ...['/livez', '/health/liveness'].map((path, index) =>
    get(
      `livenessUsingGET${index || ''}`,
      path,
      index === 0 ? 'Check liveness' : 'Check liveness (older address)',
      {
        demands: aboutGateway,
        description: `Whether the process runs: always UP when it can answer.${index === 0 ? ' Without login.' : ''}`,
        cost: 0,
        answer: Status,
        handle: async () => ({ status: 'UP' }),
      },
    ),
  ),
  ...['/readyz', '/health/readiness'].map((path, index) =>
    get(
      `readinessUsingGET${index || ''}`,
      path,
      index === 0 ? 'Check readiness' : 'Check readiness (older address)',
      {
        demands: aboutGateway,
        description:
          index === 0
            ? 'Whether requests may be sent here: the status alone, without login.'
            : 'Whether requests may be sent here, what is waited for if not, and what is out of order.',
        cost: 0,
        answer: Status,
        errors: { 503: index === 0 ? 'Not ready.' : 'Not ready; `waitingFor` names the reasons.' },
        errorAnswers: { 503: Status },
        handle: answerReadiness,
      },
    ),
  ),
  exposition.get('metricsUsingGET', '/spectator/metrics', 'Get metrics without login', {
    description:
      'Metrics in the text format of Prometheus, without login, where Gate has its own. No series of applications, unless all are open.',
    cost: 0,
  }),
  exposition.get('prometheusUsingGET', '/metrics', 'Get metrics', {
    description:
      'The same metrics for a logged-in user, with the series of applications that the user may read.',
  }),
  ...['/openapi.json', '/v3/api-docs', '/v2/api-docs'].map((path, index) =>
    get(`apiDocumentUsingGET${index || ''}`, path, 'Get the API document', {
      demands: aboutGateway,
      description: 'This document: OpenAPI 3.1 of everything that is served.',
      answer: ApiDocument,
      handle: answerApiDocument,
    }),
  ),
  get('appFileSchemaUsingGET', '/apps/schema', 'Get the schema of app files', {
    demands: aboutGateway,
    description:
      'JSON schema of `.fairlead/app.yml`, for editors and without login: `# yaml-language-server: $schema=https://fairlead.example/apps/schema`.',
    answer: AnyObject,
    handle: async () => appFileJsonSchema(),
  }),
  ...['/swagger-ui/index.html', '/swagger-ui.html', '/reference'].map((path, index) =>
    get(`apiReferenceUsingGET${index || ''}`, path, 'Browse the API', {
      demands: aboutGateway,
      answer: z.string(),
      answerType: 'text/html',
      handle: async (request) => referencePage(request.state.baseUrl),
    }),
  ),
  get('apiReferenceScriptUsingGET', '/swagger-ui/{file}', 'Get the reference script', {
    demands: aboutGateway,
    answer: textModel,
    answerType: 'text/javascript',
    errors: { 404: 'There is no such file.' },
    handle: async (request) => {
      if (request.path['file'] === 'reference.js') return referenceScript()
      throw new GatewayError(
        'NOT_FOUND',
        'There is no such file; the reference page is at /swagger-ui/index.html.',
      )
    },
  }),
]

export const doctorOperations: Operation[] = [
  get('examineUsingGET', '/doctor', 'Examine the installation', {
    demands: adminOnly,
    description:
      'What `fairlead doctor` finds: the effect of the configuration with which the gateway started, and every service that it names. Takes up to ten seconds. Users who ask at the same time share one examination.',
    cost: 20,
    handle: async (_request, { examine }) => examine(),
    answer: ExaminationModel,
    errors: { 403: 'The caller is no administrator.' },
  }),
]

async function answerHealth(request: OperationRequest, platform: Platform): Promise<DirectAnswer> {
  if (request.query['checkDownstreamServices']) platform.health.recheck()
  platform.health.noteProbe()
  const isReady = platform.health.waitingFor().length === 0
  const down =
    !isReady ||
    (request.query['downstreamServices'] && platform.health.failingServices().length > 0)
  return new DirectAnswer(down ? 503 : 200, { status: down ? 'DOWN' : 'UP' })
}

async function answerReadiness(
  { state }: OperationRequest,
  { health }: Platform,
): Promise<DirectAnswer> {
  health.noteProbe()
  const waitingFor = health.waitingFor()
  const troubles = health.troubles()
  const status = waitingFor.length === 0 ? 'UP' : 'DOWN'
  // Strangers learn no more than from Gate: names of parts, or that the audit log fails, would help an attacker.
  const details =
    state.user === undefined
      ? {}
      : {
          ...(waitingFor.length > 0 && { waitingFor }),
          ...(troubles.length > 0 && { troubles }),
        }
  return new DirectAnswer(status === 'UP' ? 200 : 503, { status, ...details })
}

async function answerApiDocument(
  { headers, state }: OperationRequest,
  { apiDocument }: Platform,
): Promise<DirectAnswer> {
  const format = parseAccept(headers.accept, ['json', 'yaml']) === 'yaml' ? 'yaml' : 'json'
  const contentType = format === 'yaml' ? 'application/x-yaml' : 'application/json'
  return new DirectAnswer(200, await apiDocument.print(format, state.baseUrl), {
    'content-type': contentType,
  })
}

const applicationSeries = /^\w+\{application="((?:[^"\\]|\\.)*)"\}.*\n/gm

/** The series of an application are for users who may read it. */
async function answerMetrics(request: OperationRequest, platform: Platform): Promise<DirectAnswer> {
  const { contentType, text } = await platform.metrics.print()
  // Metrics are needed most while a service is away.
  const mayRead = await createReadFilter(request, platform).catch(() => () => false)
  const isReadable = (name: string) =>
    mayRead(name) &&
    isMetByToken(request.state.token, { kind: 'application', name, authorization: 'READ' })
  const exposition = text.replace(applicationSeries, (line, name: string) =>
    isReadable(unescapeLabel(name)) ? line : '',
  )
  return new DirectAnswer(200, exposition, { 'content-type': contentType })
}

function unescapeLabel(value: string): string {
  return value.replace(/\\(.)/g, (_all, sign: string) => (sign === 'n' ? '\n' : sign))
}
