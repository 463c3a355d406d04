/** What a search finds, by kind. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { basePath, to } from '../address.ts'
import { client, unwrap } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { textOf } from '../model/read.ts'
import { recents } from '../model/recent.ts'
import { places } from '../places.ts'
import { words } from '../words.ts'
import type { IconName } from './icon.tsx'
import { chooseTheme } from './theme.ts'

export interface Hit {
  readonly label: string
  readonly detail?: string | undefined
  readonly icon: IconName
  readonly href?: string
  readonly run?: () => void
  /** What else it leads to. */
  readonly actions?: readonly { readonly label: string; readonly href: string }[]
}

export interface HitGroup {
  readonly title: string
  readonly hits: readonly Hit[]
  readonly failed?: boolean
}

/** From so many characters on the infrastructure is searched. */
export const minRemote = 3
const maxRemote = 200
const pauseMs = 150
const executionId = /^[0-9A-HJKMNP-TV-Z]{26}$/i

/** By name, from what is loaded and from the infrastructure; the best come first. Without a text: what was opened lately, and commands. */
export function useHits(text: string, isForCommands = true): readonly HitGroup[] {
  const applications = useLive('/applications', {}, { refresh: 'open' }).reading.value.body ?? []
  const pipelines = useLive('/pipelineConfigs', {}, { refresh: 'open' }).reading.value.body ?? []
  const remote = useRemote(text)
  return useMemo(() => {
    if (text === '') return isForCommands ? [recentGroup(), commands('')] : []
    const byName = matching(text)
    const apps = applications
      .filter(({ name }) => byName(name))
      .map(({ name, email }): Hit => ({ label: name, detail: email ?? undefined, icon: 'apps', href: to.application(name) }))
    const pipes = pipelines
      .filter(({ name, application }) => byName(name) || byName(`${application} ${name}`))
      .map(
        ({ name, application, id = name }): Hit => ({
          label: name,
          detail: application,
          icon: 'pipeline',
          href: to.pipelines(application, { q: name }),
          actions: [
            { label: words.start, href: to.startPipeline(application, id) },
            { label: words.edit, href: to.editPipeline(application, id) },
          ],
        }),
      )
    const run: Hit[] = executionId.test(text) ? [{ label: text, icon: 'play', href: to.execution(text) }] : []
    return [
      { title: words.executions, hits: run },
      { title: words.applications, hits: best(apps, text) },
      { title: words.pipelines, hits: best(pipes, text) },
      ...remote,
      ...(isForCommands ? [commands(text)] : []),
    ]
  }, [text, applications, pipelines, remote, recents.value])
}

function recentGroup(): HitGroup {
  return {
    title: words.recent,
    hits: recents.value.map(({ label, href }) => ({ label, icon: 'apps', href })),
  }
}

function commands(text: string): HitGroup {
  const screens = places
    .filter(({ adminOnly }) => adminOnly !== true || user.value?.isAdmin === true)
    .map(({ path, label, icon }): Hit => ({ label: words.goTo(label), icon, href: basePath + path }))
  const looks: Hit[] = (['light', 'dark', 'system'] as const).map((id) => ({
    label: `${words.theme}: ${words.themes[id]}`,
    icon: id === 'light' ? 'sun' : 'moon',
    run: () => chooseTheme(id),
  }))
  const byName = matching(text)
  return { title: words.commands, hits: [...screens, ...looks].filter(({ label }) => byName(label)) }
}

/** Every word occurs. */
function matching(text: string): (name: string) => boolean {
  const parts = text.toLowerCase().split(/\s+/)
  return (name) => parts.every((part) => name.toLowerCase().includes(part))
}

/** Names that begin with the text come first. */
function best(hits: readonly Hit[], text: string): readonly Hit[] {
  const starts = ({ label }: Hit) => Number(!label.toLowerCase().startsWith(text.toLowerCase()))
  return hits.toSorted((a, b) => starts(a) - starts(b) || a.label.localeCompare(b.label))
}

const kinds: readonly { readonly type: string; readonly title: string; readonly icon: IconName }[] = [
  { type: 'clusters', title: words.clusters, icon: 'box' },
  { type: 'serverGroups', title: words.serverGroups, icon: 'box' },
  { type: 'instances', title: words.instances, icon: 'terminal' },
  { type: 'loadBalancers', title: words.loadBalancers, icon: 'balance' },
  { type: 'securityGroups', title: words.securityGroups, icon: 'lock' },
]

/** Infrastructure, asked after a pause in typing; the call before is given up. */
function useRemote(text: string): readonly HitGroup[] {
  const [groups, setGroups] = useState<readonly HitGroup[]>([])
  useEffect(() => {
    setGroups([])
    if (text.length < minRemote) return
    const call = new AbortController()
    const timer = setTimeout(() => {
      const query = { q: text, type: kinds.map(({ type }) => type).join(','), pageSize: maxRemote }
      void unwrap(client.GET('/search', { params: { query: query as never }, signal: call.signal })).then(
        (sets) => setGroups(toGroups(sets.flatMap(({ results }) => results))),
        () => call.signal.aborted || setGroups([{ title: words.serverGroups, hits: [], failed: true }]),
      )
    }, pauseMs)
    return () => {
      clearTimeout(timer)
      call.abort()
    }
  }, [text])
  return groups
}

function toGroups(results: readonly Readonly<Record<string, unknown>>[]): readonly HitGroup[] {
  return kinds.map(({ type, title, icon }) => ({
    title,
    hits: results.filter((result) => result['type'] === type).flatMap((result) => toHit(type, icon, result)),
  }))
}

function toHit(type: string, icon: IconName, result: Readonly<Record<string, unknown>>): Hit[] {
  const value = (name: string) => textOf(result[name]) ?? ''
  const application = value('application')
  const [account, region] = [value('account'), value('region')]
  const detail = [account, region].filter((part) => part !== '').join(' / ')
  if (application === '') return []
  if (type === 'clusters') {
    const cluster = value('cluster')
    return [{ label: cluster, detail, icon, href: to.cluster(application, { account, cluster }) }]
  }
  if (type === 'serverGroups')
    return [
      {
        label: value('serverGroup'),
        detail,
        icon,
        href: to.serverGroup(application, { account, region, name: value('serverGroup') }),
      },
    ]
  if (type === 'instances')
    return [
      { label: value('instanceId'), detail, icon, href: to.instance(application, { account, region, id: value('instanceId') }) },
    ]
  if (type === 'loadBalancers') {
    const place = { provider: value('provider'), account, region, name: value('loadBalancer') }
    return [{ label: place.name, detail, icon, href: to.loadBalancer(application, place) }]
  }
  const name = value('name')
  return [
    {
      label: name,
      detail,
      icon,
      href: to.infrastructure('security-groups', { provider: value('provider'), account, region, name }),
    },
  ]
}
