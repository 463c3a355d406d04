/** Triggers of a pipeline in words. */
import { type Json, textOf, textsOf } from './read.ts'

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
export function describeTrigger(trigger: Json, pipelineName: (id: string) => string | undefined): string {
  const text = (name: string) => textOf(trigger[name])
  const type = text('type') ?? 'unknown'
  if (type === 'cron') return `Schedule ${text('cronExpression') ?? ''}`
  if (type === 'pipeline') return afterPipeline(trigger, pipelineName)
  const repository = [text('project'), text('slug')].filter(Boolean).join('/') || text('repository')
  const subject = subjects[type] ?? (text('job') === undefined ? `An event of ${type}` : `A build of ${text('job')}`)
  const of = text('chart') ?? text('name') ?? (type === 'docker' || type === 'git' ? repository : undefined)
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

function afterPipeline(trigger: Json, pipelineName: (id: string) => string | undefined): string {
  const id = textOf(trigger['pipeline']) ?? ''
  const ends = textsOf(trigger['status']).map((end) =>
    end === 'successful' ? 'succeeds' : end === 'failed' ? 'fails' : `is ${end}`,
  )
  const name = pipelineName(id) ?? `a pipeline of ${textOf(trigger['application']) ?? 'another application'}`
  return `When ${name} ${ends.length === 0 ? 'ends' : ends.join(' or ')}`
}
