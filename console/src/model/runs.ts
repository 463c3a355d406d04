/** Lists of runs: what an address asks of the API, and what a row says. */

import { objectList, or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import type { Execution } from './execution.ts'

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

export const triggerTypes: readonly (readonly [type: string, text: string])[] = [
  ['manual', 'by hand'],
  ['cron', 'by schedule'],
  ['git', 'by a push'],
  ['docker', 'by a new image'],
  ['pipeline', 'by another pipeline'],
  ['webhook', 'by a webhook'],
  ['pubsub', 'by a message'],
  ['helm', 'by a new chart'],
  ['jenkins', 'by a build'],
]

export function triggerWord(type = 'manual'): string {
  return triggerTypes.find(([name]) => name === type)?.[1] ?? `by ${type}`
}

const spans: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `24h` ago, or a point in time as text or in milliseconds; undefined for anything else. */
function momentOf(text = '', nowMs: number) {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  if (count !== undefined)
    return Math.floor((nowMs - Number(count) * (spans[unit] as number)) / 60_000) * 60_000
  const at = /^\d{1,16}$/.test(text) ? Number(text) : Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

/** How many newer runs the page of an address leaves out. */
export function startOf({ start }: Query): number {
  return Math.max(0, Math.floor(Number(start)) || 0)
}

export function searchOfRuns(query: Query, nowMs: number) {
  const { status, user, trigger, parameter, version, pipeline, q } = query
  const [from, ...ends] = ['from', 'to', 'before'].map((name) => momentOf(query[name], nowMs))
  const [end] = ends.filter((at) => at !== undefined).toSorted((one, other) => one - other)
  const given = {
    user,
    parameter,
    triggerTypes: trigger,
    pipelineName: pipeline,
    text: [q, version].filter(Boolean).join(' '),
    statuses: runStates.find(([word]) => word === status)?.[1] ?? status?.toUpperCase(),
    triggerTimeStartBoundary: from?.toString(),
    triggerTimeEndBoundary: end?.toString(),
  }
  const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value))
  return { ...asked, startIndex: startOf(query), size: runsPerPage, expand: false }
}

const hosts: Readonly<Record<string, string>> = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
  bitbucket: 'https://bitbucket.org',
}

/** What a trigger says of its commit and its build. */
export const readSource = shape({
  source: or(scalarOf, ''),
  project: scalarOf,
  slug: scalarOf,
  version: scalarOf,
  tag: scalarOf,
  branch: scalarOf,
  hash: scalarOf,
  payload: shape({ repository: shape({ html_url: scalarOf }) }),
  build: [
    shape({
      url: scalarOf,
      number: scalarOf,
      scm: objectList(shape({ remoteUrl: scalarOf, sha1: scalarOf, branch: scalarOf })),
    }),
    'buildInfo',
  ],
})

/** Where a server shows the commits of a trigger, such as below `…/commit/`; undefined where its address is not known. */
export function repositoryUrl(trigger: JsonObject): string | undefined {
  const { source, project, slug, payload, build } = readSource(trigger)
  const remote = payload.repository.html_url ?? build.scm[0]?.remoteUrl
  const host = hosts[source]
  const known = project && slug && host && `${host}/${project}/${slug}`
  const url = remote?.startsWith('https://') ? remote.replace(/\.git$/, '') : known
  return url && url + (url.startsWith('https://gitlab.com/') ? '/-' : '')
}

const maxParts = 4

/** What a run is of: its parameters, and version, branch and commit of its trigger. */
export function contentOf({ trigger }: Execution): readonly string[] {
  const { tag, branch, hash, version, build } = readSource(trigger)
  const parameters = Object.entries(trigger.parameters ?? {}).map(([name, value]) => {
    const text = typeof value === 'boolean' ? String(value) : scalarOf(value)
    return text && `${name} ${text}`
  })
  const images = (trigger.artifacts ?? []).map(({ reference }) =>
    scalarOf(reference)?.split('/').at(-1),
  )
  const source = [version, tag, branch, hash?.slice(0, 8), build.number && `build ${build.number}`]
  const parts = [...source, ...parameters, ...images].flatMap((part) => part || [])
  return parts.length <= maxParts
    ? parts
    : [...parts.slice(0, maxParts), `${parts.length - maxParts} more`]
}
