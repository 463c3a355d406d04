/** Lists of runs: filters as an address has them, what they ask of the API, and what a row says. */
import type { Execution } from './execution.ts'
import { type Json, objectOf, objectsOf, textOf } from './read.ts'

type Query = Readonly<Record<string, string | undefined>>

export const runsPerPage = 50

/** Words of the address, the statuses that they stand for, and their names. */
export const runStates: readonly (readonly [word: string, statuses: string, text: string])[] = [
  ['failed', 'TERMINAL', 'Failed'],
  ['active', 'RUNNING,PAUSED,NOT_STARTED,BUFFERED,SUSPENDED', 'Not ended'],
  ['running', 'RUNNING', 'Running or waiting'],
  ['succeeded', 'SUCCEEDED', 'Succeeded'],
  ['cancelled', 'CANCELED', 'Cancelled'],
  ['stopped', 'STOPPED,FAILED_CONTINUE', 'Stopped'],
]

const triggerWords: Readonly<Record<string, string>> = {
  manual: 'by hand',
  cron: 'by schedule',
  git: 'by a push',
  docker: 'by a new image',
  pipeline: 'by another pipeline',
  webhook: 'by a webhook',
  pubsub: 'by a message',
  helm: 'by a new chart',
  jenkins: 'by a build',
}

export const triggerTypes = Object.entries(triggerWords)

/** How a run was started, as people say it. */
export function triggerWord(type: string | undefined): string {
  return Object.hasOwn(triggerWords, type ?? 'manual') ? (triggerWords[type ?? 'manual'] as string) : `by ${type}`
}

const spans: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `24h` ago, or a point in time as text or in milliseconds; undefined for anything else. */
export function momentOf(text: string | undefined, nowMs: number): number | undefined {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text ?? '') ?? []
  if (count !== undefined) return Math.floor((nowMs - Number(count) * (spans[unit] as number)) / 60_000) * 60_000
  const at = /^\d{1,16}$/.test(text ?? '') ? Number(text) : Date.parse(text ?? '')
  return Number.isNaN(at) ? undefined : at
}

/** The search that an address asks for. */
export function searchOfRuns(query: Query, nowMs: number) {
  const { status, user, trigger, parameter, version, pipeline, q, before } = query
  const text = [q, version].filter(Boolean).join(' ')
  const [from, to, until] = [momentOf(query['from'], nowMs), momentOf(query['to'], nowMs), momentOf(before, nowMs)]
  const ends = [to, until].filter((end) => end !== undefined)
  const statuses = runStates.find(([word]) => word === status)?.[1] ?? status?.toUpperCase()
  return {
    ...(statuses && { statuses }),
    ...(user && { user }),
    ...(trigger && { triggerTypes: trigger }),
    ...(parameter && { parameter }),
    ...(text && { text }),
    ...(pipeline && { pipelineName: pipeline }),
    ...(from !== undefined && { triggerTimeStartBoundary: String(from) }),
    ...(ends.length > 0 && { triggerTimeEndBoundary: String(Math.min(...ends)) }),
    startIndex: startOf(query),
    size: runsPerPage,
    expand: false,
  }
}

/** How many newer runs the page leaves out. */
export function startOf({ start }: Query): number {
  return /^\d{1,9}$/.test(start ?? '') ? Number(start) : 0
}

const hosts: Readonly<Record<string, string>> = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
  bitbucket: 'https://bitbucket.org',
}

/** Where a server shows the commits of a trigger, such as below `…/commit/`; undefined where its address is not known. */
export function repositoryUrl(trigger: Json): string | undefined {
  const { source, payload, buildInfo } = trigger
  const [project, slug] = [textOf(trigger['project']), textOf(trigger['slug'])]
  const [change] = objectsOf(objectOf(buildInfo)['scm'])
  const remote = textOf(objectOf(objectOf(payload)['repository'])['html_url']) ?? textOf(change?.['remoteUrl'])
  const host = hosts[textOf(source) ?? '']
  const url = remote?.startsWith('https://')
    ? remote.replace(/\.git$/, '')
    : host && project && slug && `${host}/${project}/${slug}`
  return url && url + (url.startsWith('https://gitlab.com/') ? '/-' : '')
}

const commitLength = 8
const maxParts = 4

/** What a run is of: its parameters, and version, branch and commit of its trigger. */
export function contentOf({ trigger }: Execution): readonly string[] {
  const { tag, branch, hash, version, buildInfo } = trigger as Readonly<Record<string, unknown>>
  const parameters = Object.entries(objectOf(trigger.parameters)).flatMap(([name, value]) => {
    const text = typeof value === 'boolean' ? String(value) : textOf(value)
    return text === undefined ? [] : [`${name} ${text}`]
  })
  const images = objectsOf(trigger.artifacts).flatMap((artifact) => textOf(artifact['reference'])?.split('/').at(-1) ?? [])
  const build = textOf(objectOf(buildInfo)['number'])
  const source = [textOf(version), textOf(tag), textOf(branch), textOf(hash)?.slice(0, commitLength), build && `build ${build}`]
  const parts = [...source.flatMap((text) => text ?? []), ...parameters, ...images]
  return parts.length <= maxParts ? parts : [...parts.slice(0, maxParts), `${parts.length - maxParts} more`]
}
