/** Jobs that create, update and delete pipeline templates of both versions (docs/contracts/orchestration.md#jobs). */
import { pathTo } from '../../../http/encode-path.ts'
import { StageError } from '../machine/failure.ts'
import { decodeObject } from './encoded-payload.ts'
import type { CollaboratorRequest, StageType, TaskContext } from './stage-type.ts'

interface TemplateJob {
  type: string
  request(context: TaskContext): { id: string; request: CollaboratorRequest }
}

const jobs: readonly TemplateJob[] = [
  {
    type: 'createPipelineTemplate',
    request: (context) => {
      const { id, body } = templateOf(context)
      return { id, request: { method: 'POST', path: '/pipelineTemplates', body } }
    },
  },
  {
    type: 'updatePipelineTemplate',
    request: (context) => {
      const { id, body } = templateOf(context)
      return { id, request: { method: 'PUT', path: pathTo`/pipelineTemplates/${id}`, body } }
    },
  },
  {
    type: 'deletePipelineTemplate',
    request: (context) => {
      const id = idOf(context)
      return { id, request: { method: 'DELETE', path: pathTo`/pipelineTemplates/${id}` } }
    },
  },
  {
    type: 'createV2PipelineTemplate',
    request: (context) => {
      const { id, body } = templateOf(context)
      return { id, request: { method: 'POST', path: `/v2/pipelineTemplates${versionQuery(context)}`, body } }
    },
  },
  {
    type: 'updateV2PipelineTemplate',
    request: (context) => {
      const { id, body } = templateOf(context)
      const path = pathTo`/v2/pipelineTemplates/${id}` + versionQuery(context)
      return { id, request: { method: 'PUT', path, body } }
    },
  },
  {
    type: 'deleteV2PipelineTemplate',
    request: (context) => {
      const id = idOf(context)
      const path = pathTo`/v2/pipelineTemplates/${id}` + versionQuery(context)
      return { id, request: { method: 'DELETE', path } }
    },
  },
]

export const pipelineTemplateStages: readonly StageType[] = jobs.map(({ type, request }) => ({
  type,
  steps: [
    {
      name: type,
      timeoutMs: 30_000,
      async execute(context) {
        const prepared = request(context)
        await context.call('front50', prepared.request)
        const told = { 'notification.type': type.toLowerCase(), 'pipelineTemplate.id': prepared.id }
        return { status: 'SUCCEEDED', context: told }
      },
    },
  ],
  unevaluatedKeys: () => ['pipelineTemplate'],
}))

function templateOf(context: TaskContext): { id: string; body: unknown } {
  const body = decodeObject(context.stage.context['pipelineTemplate'], 'pipelineTemplate')
  const id = context.stage.context['id'] ?? body['id']
  if (typeof id !== 'string' || id === '') throw new StageError(['The template has no id.'])
  return { id, body }
}

function idOf(context: TaskContext): string {
  const id = context.stage.context['id'] ?? context.stage.context['pipelineTemplateId']
  if (typeof id !== 'string' || id === '') throw new StageError(['The job does not say the id of the template.'])
  return id
}

function versionQuery(context: TaskContext): string {
  const query = new URLSearchParams()
  for (const key of ['tag', 'digest']) {
    const value = context.stage.context[key]
    if (typeof value === 'string' && value !== '') query.set(key, value)
  }
  return query.size === 0 ? '' : `?${query}`
}
