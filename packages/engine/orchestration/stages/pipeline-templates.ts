/** Jobs that create, update and delete pipeline templates of both versions (docs/contracts/orchestration.md#jobs). */
import { textOf } from '@fairlead/base/json/values.ts'
import { formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import { StageError } from '../machine/failure.ts'
import { decodeObject } from './encoded-payload.ts'
import { job, type StageType, type TaskContext, type TaskResult } from './stage-type.ts'

const methods = { create: 'POST', update: 'PUT', delete: 'DELETE' } as const
type Action = keyof typeof methods

export const pipelineTemplateStages: readonly StageType[] = ['', 'V2'].flatMap((version) =>
  (['create', 'update', 'delete'] as const).map((action) => {
    const type = `${action}${version}PipelineTemplate`
    const execute = (context: TaskContext) => changeTemplate(context, type, action, version === 'V2')
    return { ...job(type, execute, { timeoutMs: 30_000 }), unevaluatedKeys: () => ['pipelineTemplate'] }
  }),
)

async function changeTemplate(context: TaskContext, type: string, action: Action, isVersioned: boolean): Promise<TaskResult> {
  const { id, body } = action === 'delete' ? { id: idOf(context), body: undefined } : templateOf(context)
  const list = isVersioned ? '/v2/pipelineTemplates' : '/pipelineTemplates'
  const { tag, digest } = context.stage.context
  const query = isVersioned ? formatQuery({ tag: textOf(tag), digest: textOf(digest) }) : ''
  const path = (action === 'create' ? list : list + pathTo`/${id}`) + query
  await context.call('front50', { method: methods[action], path, body })
  return { status: 'SUCCEEDED', context: { 'notification.type': type.toLowerCase(), 'pipelineTemplate.id': id } }
}

function templateOf(context: TaskContext): { id: string; body: unknown } {
  const body = decodeObject(context.stage.context['pipelineTemplate'], 'pipelineTemplate')
  const id = textOf(context.stage.context['id'] ?? body['id'])
  if (id === undefined) throw new StageError(['The template has no id.'])
  return { id, body }
}

function idOf(context: TaskContext): string {
  const id = textOf(context.stage.context['id'] ?? context.stage.context['pipelineTemplateId'])
  if (id === undefined) throw new StageError(['The job does not say the id of the template.'])
  return id
}
