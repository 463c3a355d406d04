/** Jobs that create, update and delete pipeline templates of both versions (docs/contracts/orchestration.md#jobs). */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { StageError } from '../machine/failure.ts'
import { decodeObject } from './encoded-payload.ts'
import { job, type StageType, type TaskContext, type TaskResult } from './stage-type.ts'

export const pipelineTemplateStages: readonly StageType[] = ['', 'V2'].flatMap((version) =>
  (['create', 'update', 'delete'] as const).map((action) => {
    const type = `${action}${version}PipelineTemplate`
    const execute = (context: TaskContext) =>
      changeTemplate(context, { type, action, isVersioned: version === 'V2' })
    return {
      ...job(type, execute, { timeoutMs: 30_000 }),
      unevaluatedKeys: () => ['pipelineTemplate'],
    }
  }),
)

const toSettings = shape({ id: textOf, pipelineTemplateId: textOf, tag: textOf, digest: textOf })

interface TemplateChange {
  readonly type: string
  readonly action: 'create' | 'update' | 'delete'
  readonly isVersioned: boolean
}

async function changeTemplate(
  context: TaskContext,
  { type, action, isVersioned }: TemplateChange,
): Promise<TaskResult> {
  const { definitions, stage } = context
  const { id, content } =
    action === 'delete' ? { id: idOf(context), content: {} } : templateOf(context)
  const { tag, digest } = toSettings(stage.context)
  await definitions[`${action}Template`]({ id, content, isVersioned, tag, digest })
  return {
    status: 'SUCCEEDED',
    context: { 'notification.type': type.toLowerCase(), 'pipelineTemplate.id': id },
  }
}

function templateOf(context: TaskContext): { id: string; content: JsonObject } {
  const content = decodeObject(context.stage.context['pipelineTemplate'], 'pipelineTemplate')
  const id = toSettings(context.stage.context).id ?? toSettings(content).id
  if (id === undefined) throw new StageError(['The template has no id.'])
  return { id, content }
}

function idOf(context: TaskContext): string {
  const { pipelineTemplateId, id = pipelineTemplateId } = toSettings(context.stage.context)
  if (id === undefined) throw new StageError(['The job does not say the id of the template.'])
  return id
}
