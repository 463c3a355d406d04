/** Summaries of executions and tasks, as event streams send them: state without contexts, outputs and triggers. */
import { formatJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'

/** A longer summary leaves its stages or steps out. */
const maxCharacters = 32 * 1024

/** What is summarised: a record of the embedded engine, or of an orchestrator that was asked. */
type SummarizedRun = Readonly<Record<string, unknown>>

const runFields = [
  'id',
  'application',
  'name',
  'status',
  'buildTime',
  'startTime',
  'endTime',
] as const
const executionFields = [...runFields, 'pipelineConfigId', 'canceled'] as const
const stageFields = [
  'id',
  'refId',
  'type',
  'name',
  'status',
  'startTime',
  'endTime',
  'parentStageId',
  'syntheticStageOwner',
] as const
const stepFields = ['id', 'name', 'status', 'startTime', 'endTime'] as const

/** An execution of a pipeline with the states of its stages, as JSON; `truncated` is set where they would be too long. */
export function summarizeExecution(execution: SummarizedRun): string {
  const stages = objectsOf(execution['stages']).map((stage) => pick(stage, stageFields))
  return format(pick(execution, executionFields), 'stages', stages)
}

/** A task, in the form of `GET /tasks/{id}` or as an execution, with the states of its steps. */
export function summarizeTask(task: SummarizedRun): string {
  const steps = Array.isArray(task['steps'])
    ? task['steps']
    : objectsOf(task['stages']).flatMap((stage) => stage['tasks'])
  const name = task['description'] ?? task['name']
  return format(
    { ...pick(task, runFields), name },
    'steps',
    objectsOf(steps).map((step) => pick(step, stepFields)),
  )
}

function format(head: JsonObject, member: string, parts: readonly JsonObject[]): string {
  const whole = formatJson({ ...head, [member]: parts })
  return whole.length <= maxCharacters ? whole : formatJson({ ...head, truncated: true })
}

function pick(record: SummarizedRun, fields: readonly string[]): JsonObject {
  const picked: JsonObject = {}
  for (const field of fields)
    if (record[field] !== null && record[field] !== undefined) picked[field] = record[field]
  return picked
}
