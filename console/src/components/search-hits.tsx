/** What a search finds, by kind: things, and what can be done. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { basePath, to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { useActiveExecutions, waitingOf } from '../api/waiting.ts'
import { toDeployed } from '../model/deployments.ts'
import { type Execution, isWaiting, statusOf } from '../model/execution.ts'
import { recents, useOf } from '../model/recent.ts'
import type { Status } from '../model/status.ts'
import { places } from '../places.ts'
import { capital } from '../words.ts'
import { openDialog } from './dialog.tsx'
import { type Hit, type HitGroup, useRemote } from './search-remote.ts'
import { chooseTheme } from './theme.ts'

const pauseMs = 150
const executionId = /^[0-9A-HJKMNP-TV-Z]{26}$/i
const maxOften = 6
/** A use of three weeks ago no longer counts. */
const leastUse = 0.12
/** Of so many hits of a kind the state is read. */
const maxStates = 8

export function keyOfHit({ href, label, detail = '' }: Hit): string {
  return href ?? `${label} ${detail}`
}

/** By name, from what is loaded and from the infrastructure; the best come first. Without a text: what waits, what is used most, and commands. */
export function useHits(text: string, isForCommands = true): readonly HitGroup[] {
  const applications = useLive('/applications', {}, { refresh: 'open' }).reading.value.body ?? []
  const pipelines = useLive('/pipelineConfigs', {}, { refresh: 'open' }).reading.value.body ?? []
  const active = useActiveExecutions('open', isForCommands).reading.value.body
  const remote = useRemote(text)
  const groups = useMemo(() => {
    const apps = applications.map(
      ({ name, email }): Hit => ({
        label: name,
        detail: email ?? undefined,
        icon: 'apps',
        href: to.application(name),
        application: name,
      }),
    )
    const pipes = pipelines.map(toPipelineHit)
    const judgments = waitingOf(active).map(toJudgment)
    const commands = isForCommands ? [...toActions(apps, pipes), ...toCommands()] : []
    if (text === '') return isForCommands ? unasked(judgments, [...apps, ...pipes, ...commands]) : []
    const run: Hit[] = executionId.test(text) ? [{ label: text, icon: 'play', href: to.execution(text) }] : []
    const actions = { title: 'Actions', hits: best([...judgments, ...commands].filter(isMeant(text)), text) }
    const things = inUse([
      { title: 'Executions', hits: run },
      { title: 'Applications', hits: best(apps.filter(named(text)), text) },
      { title: 'Pipelines', hits: best(pipes.filter(named(text)), text) },
    ])
    // A name alone means the thing, not what is done to it.
    return isVerbOf(text)(actions.hits[0]) ? [actions, ...things, ...remote] : [...things, actions, ...remote]
  }, [text, applications, pipelines, active, remote, recents.value])
  return useStates(groups, active, isForCommands)
}

function toPipelineHit({ name, application, id = name }: { name: string; application: string; id?: string }): Hit {
  return {
    label: name,
    detail: application,
    icon: 'pipeline',
    href: to.pipeline(application, id),
    pipeline: id,
    actions: [
      { label: 'Start', href: to.startPipeline(application, id) },
      { label: 'Edit', href: to.editPipeline(application, id) },
    ],
  }
}

function toJudgment(run: Execution): Hit {
  const stage = run.stages.find(isWaiting)
  return {
    label: `Judge ${run.name ?? run.id}`,
    detail: run.application,
    icon: 'user',
    href: to.execution(run.id, { stage: stage?.id }),
    state: statusOf(run),
  }
}

/** What can be done with each application and pipeline. */
function toActions(apps: readonly Hit[], pipes: readonly Hit[]): readonly Hit[] {
  const starts = pipes.map(({ label, detail, actions }): Hit => {
    const href = actions?.[0]?.href
    return { label: `Start ${label}`, detail, icon: 'play', ...(href !== undefined && { href }) }
  })
  const others = apps.flatMap(({ label }): Hit[] => [
    { label: `Roll back ${label}`, icon: 'undo', run: (navigate) => void rollBack(label, navigate) },
    { label: `Create pipeline in ${label}`, icon: 'plus', href: to.newPipeline(label) },
  ])
  return [...starts, ...others]
}

async function rollBack(application: string, navigate: (href: string) => void): Promise<void> {
  const { chooseRollBack } = await import('../screens/roll-back.tsx')
  if (!(await chooseRollBack(application))) navigate(to.application(application))
}

function toCommands(): readonly Hit[] {
  const createApplication = async () => {
    const { CreateApplication } = await import('../screens/create-application.tsx')
    openDialog(<CreateApplication />)
  }
  const screens = places
    .filter(({ adminOnly }) => adminOnly !== true || user.value?.isAdmin === true)
    .map(({ path, label, icon }): Hit => ({ label: `Go to ${label}`, icon, href: basePath + path }))
  const looks = (['light', 'dark', 'system'] as const).map(
    (id): Hit => ({
      label: `Theme: ${capital(id)}`,
      icon: id === 'light' ? 'sun' : 'moon',
      run: () => chooseTheme(id),
    }),
  )
  return [...screens, { label: 'Create application', icon: 'plus', run: () => void createApplication() }, ...looks]
}

/** Before anything is typed. */
function unasked(judgments: readonly Hit[], all: readonly Hit[]): readonly HitGroup[] {
  const often = all.filter((hit) => useOf(keyOfHit(hit)) > leastUse).toSorted((a, b) => useOf(keyOfHit(b)) - useOf(keyOfHit(a)))
  const shown = new Set(often.slice(0, maxOften).map(keyOfHit))
  const recent = recents.value.map(({ label, href }): Hit => ({ label, icon: 'apps', href, application: label }))
  return [
    { title: 'Waiting for you', hits: judgments },
    { title: 'Often used', hits: often.slice(0, maxOften) },
    { title: 'Recently opened', hits: recent.filter((hit) => !shown.has(keyOfHit(hit))) },
    { title: 'Commands', hits: toCommands().filter((hit) => !shown.has(keyOfHit(hit))) },
  ]
}

/** Every word occurs. */
function named(text: string): (hit: Hit) => boolean {
  const parts = text.toLowerCase().split(/\s+/)
  return ({ label, detail = '' }) => parts.every((part) => `${detail} ${label}`.toLowerCase().includes(part))
}

function isVerbOf(text: string): (hit: Hit | undefined) => boolean {
  const [first = ''] = text.toLowerCase().split(/\s+/)
  return (hit) => hit?.label.toLowerCase().startsWith(first) === true
}

/** Actions are meant where their verb is typed, or where they are used. */
function isMeant(text: string): (hit: Hit) => boolean {
  const [isNamed, isVerb] = [named(text), isVerbOf(text)]
  return (hit) => isNamed(hit) && (isVerb(hit) || hit.state !== undefined || useOf(keyOfHit(hit)) > leastUse)
}

/** What is used most comes first, then names that begin with the text. */
function best(hits: readonly Hit[], text: string): readonly Hit[] {
  const starts = ({ label }: Hit) => Number(!label.toLowerCase().startsWith(text.toLowerCase()))
  const used = (hit: Hit) => Math.round(useOf(keyOfHit(hit)) * 10)
  return hits.toSorted((a, b) => used(b) - used(a) || starts(a) - starts(b) || a.label.localeCompare(b.label))
}

/** Groups whose first hit is used more come first. */
function inUse(groups: readonly HitGroup[]): readonly HitGroup[] {
  const used = ({ hits: [hit] }: HitGroup) => (hit === undefined ? 0 : Math.round(useOf(keyOfHit(hit)) * 10))
  return groups.toSorted((a, b) => used(b) - used(a))
}

/** How the first applications and pipelines stand. */
function useStates(
  groups: readonly HitGroup[],
  active: readonly Execution[] | undefined,
  isWanted: boolean,
): readonly HitGroup[] {
  const settled = useSettled(groups)
  const shown = isWanted ? settled.flatMap(({ hits }) => hits.slice(0, maxStates)) : []
  const applications = [...new Set(shown.flatMap(({ application }) => application ?? []))]
  const ids = [...new Set(shown.flatMap(({ pipeline }) => pipeline ?? []))]
  const found = useLive('/serverGroups', applications.length > 0 ? { query: { applications } } : undefined, { refresh: 'open' })
  const last = { pipelineConfigIds: ids.join(), limit: 1, expand: false }
  const runs = useLive('/executions', ids.length > 0 ? { query: last } : undefined, { refresh: 'open' }).reading.value.body
  const deployed = useMemo(() => toDeployed(found.reading.value.body ?? [], new Map()), [found.reading.value.body])
  const stateOf = ({ application, pipeline, state }: Hit): Status | undefined => {
    const run = pipeline && [...(active ?? []), ...(runs ?? [])].find(({ pipelineConfigId }) => pipelineConfigId === pipeline)
    if (run) return statusOf(run)
    const cells = [...(deployed.get(application?.toLowerCase() ?? '')?.values() ?? [])]
    const [up, total] = [cells.reduce((sum, cell) => sum + cell.up, 0), cells.reduce((sum, cell) => sum + cell.total, 0)]
    return total === 0 ? state : { kind: up < total ? 'failed' : 'succeeded', word: `${up} of ${total} up` }
  }
  return groups.map((group) => ({ ...group, hits: group.hits.map((hit) => ({ ...hit, state: stateOf(hit) })) }))
}

/** The value of a while ago, once it has stayed. */
function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(() => value), pauseMs)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
