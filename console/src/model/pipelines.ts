/** Pipelines: filters of a list of them, and the order of their stages. */
import type { components } from '../api/schema.d.ts'
import { type Execution, newestFirst } from './execution.ts'
import { type Json, objectsOf, textOf, textsOf } from './read.ts'
import { levelsOf as levelsOfLinks } from './stage-links.ts'
import { isComplete } from './status.ts'

export type Pipeline = components['schemas']['Pipeline']
type Run = Pick<Execution, 'pipelineConfigId' | 'buildTime'> & { readonly status: string }

/** What the address leaves of the pipelines; a missing value leaves all. */
interface PipelineFilter {
  readonly q: string
  /** A status of executions, of which `RUNNING` stands for all that have not ended; `NEVER` or `DISABLED`. */
  readonly status?: string | undefined
  /** As `tagsOf` writes it. */
  readonly tag?: string | undefined
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

/** Links may also have the name. */
export function findPipeline(pipelines: readonly Pipeline[], idOrName: string): Pipeline | undefined {
  return pipelines.find(({ id }) => id === idOrName) ?? pipelines.find(({ name }) => name === idOrName)
}

/** Stages by how many others come before them at least. */
export function levelsOf(stages: readonly Json[]): readonly (readonly Json[])[] {
  const linked = stages.map(({ refId, requisiteStageRefIds }) => ({
    refId: textOf(refId) ?? null,
    requisiteStageRefIds: textsOf(requisiteStageRefIds),
  }))
  const levels = levelsOfLinks(linked)
  const grouped = Map.groupBy([...stages.keys()], (at) => levels[at] ?? 0)
  return [...grouped].toSorted(([one], [other]) => one - other).map(([, members]) => members.map((at) => stages[at] as Json))
}
