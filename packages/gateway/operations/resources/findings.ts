/** Findings about definitions: in the response of a save, and of all that an application has. */
import { type DocumentFinding, formatFinding } from '@fairlead/base/findings/document-finding.ts'
import { AnyObject, flagModel, model } from '@fairlead/base/json/schemas.ts'
import { type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { toHeaderText } from '@fairlead/base/net/header-text.ts'
import { PipelineModel } from '@fairlead/model/environments/pipeline-models.ts'
import { z } from 'zod'
import { get, post } from '../declare.ts'
import { readsApplication, writesApplication } from '../demands.ts'
import { DirectAnswer, type Operation, type OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

const Finding = model('Finding', 'A doubt about a definition that is kept as it was sent.', {
  severity: z
    .enum(['error', 'warning', 'note'])
    .describe(
      '`error`: a part cannot work as it is written. `warning`: it is unfinished, or may not do what is meant. `note`: it has no effect here.',
    ),
  place: z.string().describe('Such as `stages[2].type`.'),
  stage: z.string().optional().describe('Name of the stage.'),
  message: z.string().describe('What is wrong, what would happen, and what to write instead.'),
  held: z
    .literal(true)
    .optional()
    .describe('Held back until a user with the right releases it: `PUT /pipelines/{id}/release`.'),
})

const FoundIn = model('FindingsOfDefinition', {
  kind: z.string().describe('application, pipeline or strategy.'),
  id: z.string().optional(),
  name: z.string().optional(),
  findings: z.array(Finding),
})

/** The header, for the descriptions of operations that save. */
export const andWarnings =
  ' The header `X-Fairlead-Warnings` names findings that do not keep it from being saved, such as unknown stage types, triggers that never ' +
  'fire, and missing or misspelt fields; characters beyond ASCII are percent-encoded.'

export const findingsQuery = {
  findings: flagModel
    .default(false)
    .describe('Answers with the findings, and with what is otherwise answered as `saved`.'),
}

export const Saved = model('SavedWithFindings', {
  findings: z.array(Finding),
  saved: z.unknown().optional(),
})

export const findingOperations: Operation[] = [
  get('getApplicationFindings', '/applications/{application}/findings', 'List findings', {
    demands: readsApplication,
    description:
      'What is doubtful about an application, its pipelines and its strategies as they are stored. Only the embedded engine judges them: beside an ' +
      'external one the list is empty.',
    handle: async (request, { upstreams }) =>
      upstreams.traitsOf('orca').warns
        ? request.json('orca', {
            path: pathTo`/findings/applications/${request.path['application'] as string}`,
          })
        : [],
    answer: z.array(FoundIn),
    cost: 5,
  }),
  post('validatePipeline', '/applications/{application}/findings', 'Judge an unsaved pipeline', {
    demands: writesApplication,
    changesNothing: true,
    description:
      'The findings that a save of the pipeline in this application would name. Nothing is stored. Beside an external engine the list is empty.',
    body: { schema: AnyObject, shown: PipelineModel, required: true },
    handle: (request, platform) =>
      checkDocument(request, platform, 'pipeline', {
        ...(request.body as JsonObject),
        application: request.path['application'],
      }),
    answer: z.array(Finding),
    cost: 5,
  }),
]

/** Sentences of a header. */
const mostWarnings = 10

const serviceOf = {
  pipeline: 'orca',
  strategy: 'orca',
  template: 'orca',
  application: 'orca',
  notifications: 'echo',
  'canary-config': 'kayenta',
} as const

type Kind = keyof typeof serviceOf

async function checkDocument(
  request: OperationRequest,
  { upstreams }: Platform,
  kind: Kind,
  body: unknown,
): Promise<unknown> {
  const service = serviceOf[kind]
  return upstreams.traitsOf(service).warns
    ? request.json(service, { method: 'POST', path: `/findings/${kind}`, body })
    : []
}

/** Documents that one request saves. */
const mostChecked = 100

/** @param answer To the request that has saved the document */
export function withFindings(
  request: OperationRequest,
  platform: Platform,
  kind: Kind,
  document: unknown,
  answer?: unknown,
  status = 200,
): Promise<unknown> {
  return withFindingsOf(request, platform, { saved: [{ kind, document }], answer, status })
}

export interface SavedDocument {
  readonly kind: Kind
  readonly document: unknown
}

/** With several documents, the place of a finding begins with the document's name. */
export async function withFindingsOf(
  request: OperationRequest,
  platform: Platform,
  {
    saved,
    answer,
    status,
  }: {
    readonly saved: readonly SavedDocument[]
    readonly answer: unknown
    readonly status: number
  },
): Promise<unknown> {
  const findings: DocumentFinding[] = []
  for (const { kind, document } of saved.slice(0, mostChecked)) {
    const found = await checkDocument(request, platform, kind, document).catch(() => [])
    const name = saved.length > 1 ? `${objectOf(document)['name'] ?? kind}: ` : ''
    for (const finding of found as DocumentFinding[])
      findings.push({ ...finding, place: name + finding.place })
  }
  const body = request.query['findings'] === true ? { findings, saved: answer } : answer
  return withWarnings(findings.map(formatFinding), body, status)
}

/** @param sentences What the header says */
export function withWarnings(sentences: readonly string[], body: unknown, status: number): unknown {
  if (sentences.length === 0) return body
  const texts = sentences.slice(0, mostWarnings)
  const more = sentences.length - texts.length
  if (more > 0) texts.push(`There are ${more} more findings.`)
  return new DirectAnswer(status, body, {
    'x-fairlead-warnings': texts.map(toHeaderText).join(' '),
  })
}
