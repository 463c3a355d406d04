/** Pipelines: filters of a list of them, and their triggers in words. */

import { type JsonObject, objectsOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Schemas } from '../api/schema.d.ts'
import { type Execution, isComplete, newestFirst } from './execution.ts'

export type Pipeline = Schemas['Pipeline']
type Run = Pick<Execution, 'pipelineConfigId' | 'buildTime'> & { readonly status: string }

/** A status is that of the last run, of which `RUNNING` stands for all that have not ended; or `NEVER` or `DISABLED`. */
type PipelineFilter = { readonly q: string } & {
  readonly [of in 'status' | 'tag']?: string
}

/** @param runs Newer and older ones of these and other pipelines. */
export function matchesPipeline(
  pipeline: Pipeline,
  { q, status, tag }: PipelineFilter,
  runs: readonly Run[],
): boolean {
  return (
    pipeline.name.toLowerCase().includes(q.toLowerCase()) &&
    (tag === undefined || tagsOf(pipeline).includes(tag)) &&
    (status === undefined || hasState(pipeline, status, runs))
  )
}

function hasState({ id, disabled }: Pipeline, state: string, runs: readonly Run[]) {
  if (state === 'DISABLED') return disabled === true
  const [last] = newestFirst(runs.filter(({ pipelineConfigId }) => pipelineConfigId === id))
  if (last === undefined) return state === 'NEVER'
  return state === 'RUNNING' ? !isComplete(last.status) : last.status === state
}

/** `name: value`, or the name alone. */
function tagsOf({ tags }: Pipeline) {
  return objectsOf(tags).flatMap((tag) => {
    const name = scalarOf(tag['name'])
    return name === undefined ? [] : [[name, scalarOf(tag['value'])].filter(Boolean).join(': ')]
  })
}

export function tagsOfPipelines(pipelines: readonly Pipeline[]): readonly string[] {
  return [...new Set(pipelines.flatMap(tagsOf))].toSorted((a, b) => a.localeCompare(b))
}

/** Links may also have the name. */
export function findPipeline(
  pipelines: readonly Pipeline[],
  idOrName: string,
): Pipeline | undefined {
  return (
    pipelines.find(({ id }) => id === idOrName) ?? pipelines.find(({ name }) => name === idOrName)
  )
}

const subjects: Readonly<Record<string, string>> = {
  git: 'A push',
  webhook: 'A webhook',
  docker: 'A new image',
  helm: 'A new chart',
  'helm/oci': 'A new chart',
  artifact: 'A new artifact',
  pubsub: 'A message',
  cdevents: 'A CDEvent',
  plugin: 'A release of a plug-in',
}

/** What has to happen; a schedule says its expression, whose times the service knows. @param pipelineName Of an id */
export function describeTrigger(
  trigger: JsonObject,
  pipelineName: (id: string) => string | undefined,
): string {
  const text = (name: string) => scalarOf(trigger[name])
  const type = text('type') ?? 'unknown'
  if (type === 'cron') return `Schedule ${text('cronExpression') ?? ''}`
  if (type === 'pipeline') return afterPipeline(trigger, pipelineName)
  const repository = [text('project'), text('slug')].filter(Boolean).join('/') || text('repository')
  const subject =
    subjects[type] ??
    (text('job') === undefined ? `An event of ${type}` : `A build of ${text('job')}`)
  const of =
    text('chart') ?? text('name') ?? (type === 'docker' || type === 'git' ? repository : undefined)
  const details = [
    of !== undefined && `${type === 'git' ? 'to' : 'of'} ${of}`,
    text('branch') !== undefined && `on ${text('branch')}`,
    text('tag') !== undefined && `tagged ${text('tag')}`,
    text('master') !== undefined && `on ${text('master')}`,
    text('subscriptionName') !== undefined && `on ${text('subscriptionName')}`,
    type !== 'git' && text('source') !== undefined && `to ${text('source')}`,
  ]
  return [subject, ...details.filter((detail) => detail !== false)].join(' ')
}

function afterPipeline(trigger: JsonObject, pipelineName: (id: string) => string | undefined) {
  const id = scalarOf(trigger['pipeline']) ?? ''
  const ends = textsOf(trigger['status']).map((end) =>
    end === 'successful' ? 'succeeds' : end === 'failed' ? 'fails' : `is ${end}`,
  )
  const name =
    pipelineName(id) ?? `a pipeline of ${scalarOf(trigger['application']) ?? 'another application'}`
  return `When ${name} ${ends.length === 0 ? 'ends' : ends.join(' or ')}`
}
