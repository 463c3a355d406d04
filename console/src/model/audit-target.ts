/** Where a record of the audit log leads: to the revision that a save made, the execution or the task that it was about. */

export type AuditTarget =
  | { readonly kind: 'revision'; readonly application: string; readonly id: string; readonly atMs: number }
  | { readonly kind: 'pipelines'; readonly application: string; readonly name: string }
  | { readonly kind: 'execution' | 'task'; readonly id: string }

interface AuditRecord {
  readonly at: string
  readonly decision: string
  readonly operation?: string | undefined
  readonly resource?: Readonly<Record<string, string>> | undefined
}

const saves = ['savePipelineUsingPOST', 'updatePipelineUsingPUT']
const ofExecutions = [
  'cancelPipelineUsingPUT1',
  'pausePipelineUsingPUT',
  'resumePipelineUsingPUT',
  'restartStageUsingPUT',
  'updateStageUsingPATCH',
]
const ofTasks = ['cancelTaskUsingPUT', 'cancelTaskUsingPUT1']

/** Undefined for what was refused, and for what has no screen. */
export function auditTargetOf({ operation = '', decision, at, resource = {} }: AuditRecord): AuditTarget | undefined {
  if (decision !== 'allowed') return undefined
  const { application, id, name } = resource
  if (saves.includes(operation) && application !== undefined) {
    if (id !== undefined) return { kind: 'revision', application, id, atMs: Date.parse(at) }
    return name === undefined ? undefined : { kind: 'pipelines', application, name }
  }
  if (id === undefined) return undefined
  if (ofExecutions.includes(operation)) return { kind: 'execution', id }
  return ofTasks.includes(operation) ? { kind: 'task', id } : undefined
}
