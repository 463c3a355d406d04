/** Findings of a document that a client has, and of all that an application has. */
import type { DocumentFinding } from '@fairlead/base/findings/document-finding.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance } from 'fastify'
import { objectAnswer } from '../routes/answers.ts'
import {
  createNames,
  type DocumentKind,
  documentKinds,
  type FindingSources,
  findingsOf,
  findingsOfStored,
} from './findings.ts'

interface FoundIn {
  readonly kind: DocumentKind
  readonly id?: string
  readonly name?: string
  readonly findings: readonly DocumentFinding[]
}

export function findingRoutes(app: FastifyInstance, sources: FindingSources): void {
  app.post('/findings/:kind', (request) => {
    const kind = documentKinds.find((known) => known === pathValue(request, 'kind'))
    if (kind === undefined)
      throw new PortError(404, `Documents that are checked: ${documentKinds.join(', ')}.`)
    return findingsOf(kind, objectAnswer(request.body), sources, {
      caller: trustedCallerOf(request),
    })
  })

  app.get('/findings/applications/:application', async (request) => {
    const caller = trustedCallerOf(request)
    const { definitions } = sources.ports
    const application = pathValue(request, 'application')
    const names = createNames(sources)
    const findingsIn =
      (kind: DocumentKind) =>
      async (document: JsonObject): Promise<FoundIn[]> => {
        const findings = await findingsOfStored(kind, document, sources, { caller, names })
        const { id, name } = readPipeline(document)
        return findings.length === 0 ? [] : [{ kind, id, name, findings }]
      }
    const own = await definitions.application(application, caller)
    return [
      ...(own === undefined ? [] : await findingsIn('application')(own.all)),
      ...(await flatMapInTurns(
        await definitions.pipelinesOf(application, caller),
        findingsIn('pipeline'),
        1,
      )),
      ...(await flatMapInTurns(
        await definitions.strategies(application, caller),
        findingsIn('strategy'),
        1,
      )),
    ]
  })
}
