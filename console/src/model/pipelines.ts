/** Filters of a list of pipelines: name, state of the last run, tag. */
import type { components } from '../api/schema.d.ts'
import { type Execution, newestFirst } from './execution.ts'
import { objectsOf, textOf } from './read.ts'
import { isComplete } from './status.ts'

type Pipeline = components['schemas']['Pipeline']
type Run = Pick<Execution, 'pipelineConfigId' | 'buildTime'> & { readonly status: string }

/** What the address leaves of the pipelines; a missing value leaves all. */
export interface PipelineFilter {
  readonly q: string
  /** A status of executions, of which `RUNNING` stands for all that have not ended; `NEVER` or `DISABLED`. */
  readonly status?: string
  /** As `tagsOf` writes it. */
  readonly tag?: string
}

/** @param runs Newer and older ones of these and other pipelines. */
export function matchesPipeline(pipeline: Pipeline, filter: PipelineFilter, runs: readonly Run[]): boolean {
  const { q, status, tag } = filter
  return (
    pipeline.name.toLowerCase().includes(q.toLowerCase()) &&
    (tag === undefined || tagsOf(pipeline).includes(tag)) &&
    (status === undefined || hasState(pipeline, status, runs))
  )
}

function hasState({ id, disabled }: Pipeline, state: string, runs: readonly Run[]): boolean {
  if (state === 'DISABLED') return disabled === true
  const [last] = newestFirst(runs.filter(({ pipelineConfigId }) => pipelineConfigId === id))
  if (last === undefined) return state === 'NEVER'
  return state === 'RUNNING' ? !isComplete(last.status) : last.status === state
}

/** `name: value`, or the name alone. */
function tagsOf({ tags }: Pipeline): readonly string[] {
  return objectsOf(tags).flatMap((tag) => {
    const name = textOf(tag['name'])
    return name === undefined ? [] : [[name, textOf(tag['value'])].filter(Boolean).join(': ')]
  })
}

/** Each once, sorted. */
export function tagsOfPipelines(pipelines: readonly Pipeline[]): readonly string[] {
  return [...new Set(pipelines.flatMap(tagsOf))].toSorted((a, b) => a.localeCompare(b))
}
