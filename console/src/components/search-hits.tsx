/** Hits of a search, by kind: things, and what can be done with them. */

import { type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { basePath, to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { useRunsOf } from '../api/pipelines.ts'
import {
  changeOperation,
  mostQuestions,
  saveOperation,
  startOperation,
  useAllowed,
} from '../api/rights.ts'
import { user } from '../api/session.ts'
import { useStandings } from '../api/standings.ts'
import { search, searchPath, useActiveExecutions, useWaiting } from '../api/waiting.ts'
import { type Execution, isWaiting, type Status, shortId, statusOf } from '../model/execution.ts'
import { toWords } from '../model/names.ts'
import { recents, useOf } from '../model/recent.ts'
import { contentOf } from '../model/runs.ts'
import { places } from '../places.ts'
import { capital } from '../words.ts'
import { openDialog } from './dialog.tsx'
import { useSettled } from './kept.tsx'
import { Icon, type IconName, Name, StatusText } from './text.tsx'
import { chooseTheme, themes } from './theme.ts'

export interface Hit extends Wanting {
  readonly label: string
  readonly detail?: string
  readonly icon: IconName
  readonly href?: string
  readonly run?: (navigate: (href: string) => void) => void
  /** What else it leads to. */
  readonly actions?: readonly {
    readonly label: string
    readonly href: string
    readonly needs?: string
  }[]
  /** Pipeline whose state is beside it. */
  readonly pipeline?: string
  readonly application?: string
  readonly state?: Status
}

interface Wanting {
  /** The operation that the user has to be allowed in the application `of`. */
  readonly needs?: string
  readonly of?: string
  /** Only where a server group of `of` can go back to another one. */
  readonly isRollBack?: boolean
}

interface HitGroup {
  readonly title: string
  readonly hits: readonly Hit[]
  readonly failed?: boolean
}

export const searchPlaceholder = 'Application, pipeline, version, commit, author, run, cluster …'

/** From so many characters on the infrastructure is searched. */
const minRemote = 3
const pauseMs = 150
const maxOften = 6
/** Applications whose server groups are read at once. */
const maxAsked = 20
/** A use of three weeks ago no longer counts. */
const leastUse = 0.12
/** Hits of a kind whose state is read. */
const maxStates = 8

export function keyOfHit({ href, label, detail = '' }: Hit): string {
  return href ?? `${label} ${detail}`
}

/** Why more may exist than what is found. */
export function searchNote(text: string): string {
  return text.length < minRemote
    ? `Infrastructure is searched from ${minRemote} characters on.`
    : ''
}

/** What a hit is: its own link, or the name in an option of a list. */
export function HitText({
  hit: { icon, label, detail, state },
  link,
}: {
  hit: Hit
  link?: ComponentChildren
}) {
  return (
    <>
      <Icon name={icon} />
      {link ?? <Name class="grow" text={label} max={60} />}
      <span class={`muted ${link === undefined ? '' : 'grow'}`}>
        {detail !== undefined && <Name text={detail} max={40} />}
      </span>
      {state !== undefined && <StatusText status={state} />}
    </>
  )
}

/** Groups that found something, the best first. Without a text: what waits, what is used most, and commands. */
export function useHits(text: string): readonly HitGroup[] {
  const applications = useLive('/applications', {}, 'open').body
  const pipelines = useLive('/pipelineConfigs', {}, 'open').body
  const active = useActiveExecutions('open').body
  const waiting = useWaiting(active)
  const remote = useRemote(text)
  const runs = useRuns(text)
  const groups = useMemo((): readonly HitGroup[] => {
    const kinds = {
      judgments: waiting?.map(toJudgment) ?? [],
      applications: applications?.map(toApplication) ?? [],
      pipelines: pipelines?.map(toPipeline) ?? [],
      actions: [
        ...(pipelines ?? []).map(toStart),
        ...(applications ?? []).flatMap(toActions),
        ...toCommands(),
      ],
    }
    return [...(text === '' ? unasked(kinds) : find(text, kinds)), runs, ...remote].filter(
      ({ hits, failed }) => hits.length > 0 || failed,
    )
  }, [
    text,
    applications,
    pipelines,
    waiting?.map(({ id }) => id).join(),
    remote,
    runs,
    recents.value,
  ])
  return useStates(useOffered(groups), active)
}

/** Without what the user may not do, and without rollbacks where nothing is known to go back to. */
function useOffered(groups: readonly HitGroup[]) {
  const hits = groups.flatMap((group) => group.hits)
  const ofActions = hits.flatMap(({ actions = [], of }) =>
    actions.map((action) => ({ ...action, of })),
  )
  const denied = [startOperation, saveOperation, changeOperation].map((operation) =>
    useDenied(operation, [...hits, ...ofActions]),
  )
  const canRollBack = useRollBacks(hits.flatMap(({ isRollBack, of }) => (isRollBack && of) || []))
  const isOffered = ({ needs, of = '', isRollBack }: Wanting) =>
    !denied.some(({ operation, names }) => operation === needs && names.includes(of)) &&
    (!isRollBack || canRollBack.has(of))
  const withOffered = (hit: Hit): Hit =>
    hit.actions === undefined
      ? hit
      : { ...hit, actions: hit.actions.filter((action) => isOffered({ ...action, of: hit.of })) }
  return groups
    .map((group) => ({ ...group, hits: group.hits.filter(isOffered).map(withOffered) }))
    .filter((group) => group.hits.length > 0 || group.failed)
}

/** Only for the first applications that are named. */
function useDenied(operation: string, hits: readonly Wanting[]) {
  const names = [
    ...new Set(hits.flatMap(({ needs, of }) => (needs === operation && of) || [])),
  ].slice(0, mostQuestions)
  const allowed = useAllowed(operation, names)
  return { operation, names: names.filter((name) => allowed.get(name) === false) }
}

/** Applications that have a server group to roll back; a few are read at once. */
function useRollBacks(applications: readonly string[]) {
  const known = useStandings((found) =>
    applications.filter((name) => !found.has(name)).slice(0, maxAsked),
  )
  return new Set(applications.filter((name) => known.get(name)?.canRollBack))
}

type Application = Pick<Schemas['ApplicationAttributes'], 'name' | 'email'>
type Pipeline = Pick<Schemas['Pipeline'], 'name' | 'application' | 'id'>
type HitKinds = Readonly<
  Record<'judgments' | 'applications' | 'pipelines' | 'actions', readonly Hit[]>
>

function toApplication({ name, email }: Application): Hit {
  return {
    label: name,
    detail: email ?? undefined,
    icon: 'apps',
    href: to.application(name),
    application: name,
  }
}

function toPipeline({ name, application, id = name }: Pipeline): Hit {
  const actions = [
    { label: 'Start', href: to.startPipeline(application, id), needs: startOperation },
    { label: 'Edit', href: to.editPipeline(application, id) },
  ]
  const href = to.pipeline(application, id)
  return {
    label: name,
    detail: application,
    icon: 'pipeline',
    href,
    pipeline: id,
    of: application,
    actions,
  }
}

function toStart({ name, application, id = name }: Pipeline): Hit {
  const href = to.startPipeline(application, id)
  return {
    label: `Start ${name}`,
    detail: application,
    icon: 'play',
    href,
    needs: startOperation,
    of: application,
  }
}

function toActions({ name }: Application): readonly Hit[] {
  return [
    {
      label: `Roll back ${name}`,
      icon: 'undo',
      needs: changeOperation,
      of: name,
      isRollBack: true,
      run: (navigate) => void rollBack(name, navigate),
    },
    {
      label: `Create pipeline in ${name}`,
      icon: 'plus',
      href: to.newPipeline(name),
      needs: saveOperation,
      of: name,
    },
  ]
}

function toJudgment(run: Execution): Hit {
  const href = to.execution(run.id, { stage: run.stages.find(isWaiting)?.id })
  return {
    label: `Judge ${run.name ?? run.id}`,
    detail: run.application,
    icon: 'user',
    href,
    state: statusOf(run),
  }
}

async function rollBack(application: string, navigate: (href: string) => void) {
  const { chooseRollBack } = await import('../screens/roll-back.tsx')
  if (!(await chooseRollBack(application))) navigate(to.application(application))
}

async function createApplication() {
  const { CreateApplication } = await import('../screens/create-application.tsx')
  openDialog(<CreateApplication />)
}

function toCommands(): readonly Hit[] {
  return [
    ...places
      .filter(({ adminOnly }) => adminOnly !== true || user.value?.isAdmin === true)
      .map(
        ({ path, label, icon }): Hit => ({ label: `Go to ${label}`, icon, href: basePath + path }),
      ),
    { label: 'Create application', icon: 'plus', run: () => void createApplication() },
    ...themes.map(
      (id): Hit => ({
        label: `Theme: ${capital(id)}`,
        icon: id === 'light' ? 'sun' : 'moon',
        run: () => chooseTheme(id),
      }),
    ),
  ]
}

/** Hits before anything is typed. */
function unasked({ judgments, applications, pipelines, actions }: HitKinds): readonly HitGroup[] {
  const often = best([...applications, ...pipelines, ...actions].filter(isUsed), '').slice(
    0,
    maxOften,
  )
  const others = (hits: readonly Hit[]) =>
    hits.filter((hit) => !often.some((one) => keyOfHit(one) === keyOfHit(hit)))
  const recent = recents.value.map((name) => toApplication({ name }))
  return [
    { title: 'Waiting for you', hits: judgments },
    { title: 'Often used', hits: often },
    { title: 'Recently opened', hits: others(recent) },
    { title: 'Commands', hits: others(toCommands()) },
  ]
}

function find(
  text: string,
  { judgments, applications, pipelines, actions }: HitKinds,
): readonly HitGroup[] {
  const wanted = text.toLowerCase()
  const parts = wanted.split(/\s+/)
  const isNamed = ({ label, detail = '' }: Hit) =>
    parts.every((part) => `${detail} ${label}`.toLowerCase().includes(part))
  const isVerb = ({ label }: Hit) => label.toLowerCase().startsWith(parts[0] ?? '')
  const named = (title: string, hits: readonly Hit[]) => ({
    title,
    hits: best(hits.filter(isNamed), wanted),
  })
  const things = [named('Applications', applications), named('Pipelines', pipelines)]
  const ordered = things.toSorted((a, b) => usedTenths(b.hits[0]) - usedTenths(a.hits[0]))
  // A name alone means the thing, not what is done to it.
  const done = named('Actions', [
    ...judgments,
    ...actions.filter((hit) => isVerb(hit) || isUsed(hit)),
  ])
  return done.hits.slice(0, 1).some(isVerb) ? [done, ...ordered] : [...ordered, done]
}

function isUsed(hit: Hit) {
  return useOf(keyOfHit(hit)) > leastUse
}

function usedTenths(hit: Hit | undefined) {
  return hit === undefined ? 0 : Math.round(useOf(keyOfHit(hit)) * 10)
}

/** What is used most comes first, then names that begin with the text. */
function best(hits: readonly Hit[], wanted: string) {
  const isOther = ({ label }: Hit) => Number(!label.toLowerCase().startsWith(wanted))
  return hits.toSorted(
    (a, b) =>
      usedTenths(b) - usedTenths(a) || isOther(a) - isOther(b) || a.label.localeCompare(b.label),
  )
}

type Place = Record<'account' | 'region' | 'provider' | 'name' | 'cluster' | 'id', string>

interface Kind {
  readonly icon: IconName
  /** Where its name stands. */
  readonly name: string
  readonly href: (application: string, place: Place) => string
}

/** By their types. */
const kinds: Readonly<Record<string, Kind>> = {
  clusters: { icon: 'box', name: 'cluster', href: to.cluster },
  serverGroups: { icon: 'box', name: 'serverGroup', href: to.serverGroup },
  instances: { icon: 'terminal', name: 'instanceId', href: to.instance },
  loadBalancers: { icon: 'balance', name: 'loadBalancer', href: toPlace('load-balancers') },
  securityGroups: { icon: 'lock', name: 'name', href: toPlace('security-groups') },
}

function toPlace(section: Parameters<typeof to.places>[0]): Kind['href'] {
  return (application, place) => to.place(section, application, place)
}

const types = Object.keys(kinds).join()

/** The infrastructure is asked after a pause in typing. */
function useRemote(text: string): readonly HitGroup[] {
  const q = useSettled(text, pauseMs)
  const query = { q, type: types, pageSize: 200 } as never
  const { body, error } = useLive('/search', q.length < minRemote ? undefined : { query }, 'open')
  return useMemo(() => {
    if (q !== text) return []
    if (error !== undefined) return [{ title: 'Server groups', hits: [], failed: true }]
    const results = body?.flatMap((set) => set.results) ?? []
    return Object.entries(kinds).map(([type, kind]) => ({
      title: capital(toWords(type)),
      hits: results
        .filter((result) => result['type'] === type && scalarOf(result['application']))
        .map((one) => toHit(one, kind)),
    }))
  }, [q, text, body, error])
}

const maxRuns = 8

/** Runs by version, commit, author, message, ticket, branch or their id. */
function useRuns(text: string): HitGroup {
  const q = useSettled(text, pauseMs)
  const asked = q.length < minRemote ? undefined : search({ text: q, size: maxRuns, expand: false })
  const { body, error } = useLive(searchPath, asked, 'open')
  return useMemo(() => {
    const found = q === text ? (body ?? []) : []
    return { title: 'Runs', hits: found.map(toRun), failed: q === text && error !== undefined }
  }, [q, text, body, error])
}

function toRun(run: Execution): Hit {
  const { hash } = run.trigger
  return {
    label: `${run.application} / ${run.name ?? 'run'} ${shortId(run.id)}`,
    detail: contentOf(run).join(' · '),
    icon: 'play',
    href: to.execution(run.id),
    state: statusOf(run),
    actions:
      typeof hash === 'string'
        ? [{ label: 'Release', href: to.release(run.application, hash) }]
        : [],
  }
}

function toHit(result: JsonObject, { icon, name: nameKey, href }: Kind): Hit {
  const [account, region, provider, name] = ['account', 'region', 'provider', nameKey].map(
    (key) => scalarOf(result[key]) ?? '',
  )
  const place = { account, region, provider, name, cluster: name, id: name } as Place
  const detail = [account, region].filter(Boolean).join(' / ')
  return { label: place.name, detail, icon, href: href(String(result['application']), place) }
}

/** How the first applications and pipelines stand. */
function useStates(
  groups: readonly HitGroup[],
  active: readonly Execution[] = [],
): readonly HitGroup[] {
  const shown = useSettled(groups, pauseMs).flatMap(({ hits }) => hits.slice(0, maxStates))
  const applications = [...new Set(shown.flatMap(({ application }) => application ?? []))]
  const pipelineIds = [...new Set(shown.flatMap(({ pipeline }) => pipeline ?? []))].join()
  const standings = useStandings(() => applications)
  const runs = useRunsOf(pipelineIds, 1).body ?? []
  const stateOf = ({ application = '', pipeline, state }: Hit): Status | undefined => {
    const run =
      pipeline && [...active, ...runs].find(({ pipelineConfigId }) => pipelineConfigId === pipeline)
    if (run) return statusOf(run)
    const { up, total } = standings.get(application) ?? { up: 0, total: 0 }
    return total === 0
      ? state
      : { kind: up < total ? 'failed' : 'succeeded', word: `${up} of ${total} up` }
  }
  return groups.map((group) => ({
    ...group,
    hits: group.hits.map((hit) => ({ ...hit, state: stateOf(hit) })),
  }))
}
