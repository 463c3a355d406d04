/** Search over everything by name, in three keystrokes. @see WAI-ARIA Authoring Practices, combobox */

import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { basePath, to } from '../address.ts'
import { client, unwrap } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { textOf } from '../model/read.ts'
import { recents } from '../model/recent.ts'
import { routes } from '../routes.ts'
import { words } from '../words.ts'
import { closeDialog, Dialog, openDialog } from './dialog.tsx'
import { Icon, type IconName } from './icon.tsx'
import { Name } from './name.tsx'
import { chooseTheme } from './theme.ts'

export function openPalette(): void {
  openDialog(<Palette />)
}

interface Hit {
  readonly label: string
  readonly detail?: string | undefined
  readonly icon: IconName
  readonly href?: string
  readonly run?: () => void
}

interface Group {
  readonly title: string
  readonly hits: readonly Hit[]
  readonly failed?: boolean
}

const maxPerGroup = 8
/** From so many characters on the infrastructure is searched. */
const minRemote = 3
const pauseMs = 150
const executionId = /^[0-9A-HJKMNP-TV-Z]{26}$/i

function Palette() {
  const { route: navigate } = useLocation()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const groups = useGroups(text.trim())
  const hits = groups.flatMap(({ hits: some }) => some)
  const chosen = Math.min(at, Math.max(0, hits.length - 1))

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen, hits.length])

  const open = (hit: Hit | undefined, inNewTab: boolean) => {
    if (hit === undefined) return
    closeDialog()
    if (hit.run !== undefined) hit.run()
    else if (hit.href !== undefined && inNewTab) window.open(hit.href, '_blank', 'noopener')
    else if (hit.href !== undefined) navigate(hit.href)
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      if (hits.length > 0) setAt((chosen + step + hits.length) % hits.length)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      open(hits[chosen], event.ctrlKey || event.metaKey)
    }
  }
  let index = 0
  return (
    <Dialog title={words.searchDialog} class="palette">
      <div class="palette-field">
        <Icon name="search" size={20} />
        <input
          type="text"
          role="combobox"
          list={undefined}
          aria-autocomplete="list"
          aria-label={words.search}
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={hits.length === 0 ? undefined : `${id}-${chosen}`}
          placeholder={words.searchPlaceholder}
          autoComplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={onKey}
        />
      </div>
      <div class="palette-list" id={id} role="listbox" aria-label={words.search} ref={list}>
        {groups.map(({ title, hits: some, failed }) =>
          some.length === 0 && failed !== true ? null : (
            <div key={title} role="group" aria-label={title}>
              <div class="palette-group" aria-hidden="true">
                {title}
              </div>
              {failed === true && <div class="palette-note">{words.searchFailed(title)}</div>}
              {some.map((hit) => {
                const mine = index++
                return (
                  <div
                    key={hit.href ?? hit.label}
                    id={`${id}-${mine}`}
                    role="option"
                    tabIndex={-1}
                    aria-selected={mine === chosen}
                    class="palette-hit"
                    onClick={(event) => open(hit, event.ctrlKey || event.metaKey)}
                    onPointerMove={() => setAt(mine)}
                  >
                    <Icon name={hit.icon} />
                    <span class="grow">
                      <Name text={hit.label} max={60} />
                    </span>
                    {hit.detail !== undefined && (
                      <span class="muted">
                        <Name text={hit.detail} max={40} />
                      </span>
                    )}
                  </div>
                )
              })}
            </div>
          ),
        )}
      </div>
      {hits.length === 0 && text !== '' && (
        <p class="palette-note">
          {words.noHit(text)} {text.trim().length < minRemote && words.searchShort}
        </p>
      )}
      <div class="visually-hidden" role="status">
        {text === '' ? '' : words.results(hits.length)}
      </div>
    </Dialog>
  )
}

function useGroups(text: string): readonly Group[] {
  const applications = useLive('/applications', {}, { refresh: 'open' }).reading.value.body ?? []
  const pipelines = useLive('/pipelineConfigs', {}, { refresh: 'open' }).reading.value.body ?? []
  const remote = useRemote(text)
  return useMemo(() => {
    if (text === '') return [recentGroup(), commands('')]
    const byName = matching(text)
    const apps = applications
      .filter(({ name }) => byName(name))
      .map(({ name, email }): Hit => ({ label: name, detail: email ?? undefined, icon: 'apps', href: to.application(name) }))
    const pipes = pipelines
      .filter(({ name, application }) => byName(name) || byName(`${application} ${name}`))
      .map(
        ({ name, application, id }): Hit => ({
          label: name,
          detail: application,
          icon: 'pipeline',
          href: to.pipelines(application, { q: name }),
          ...(id === undefined && {}),
        }),
      )
    const run: Hit[] = executionId.test(text) ? [{ label: text, icon: 'play', href: to.execution(text) }] : []
    return [
      { title: words.executions, hits: run },
      { title: words.applications, hits: best(apps, text) },
      { title: words.pipelines, hits: best(pipes, text) },
      ...remote,
      commands(text),
    ]
  }, [text, applications, pipelines, remote, recents.value])
}

function recentGroup(): Group {
  return {
    title: words.recent,
    hits: recents.value.map(({ label, kind, href }) => ({ label, icon: kind === 'application' ? 'apps' : 'pipeline', href })),
  }
}

function commands(text: string): Group {
  const places = routes.flatMap(({ path, rail }): Hit[] =>
    rail === undefined || (rail.adminOnly === true && user.value?.isAdmin !== true)
      ? []
      : [{ label: words.goTo(rail.label), icon: rail.icon, href: basePath + path }],
  )
  const looks: Hit[] = (['light', 'dark', 'system'] as const).map((id) => ({
    label: `${words.theme}: ${words.themes[id]}`,
    icon: id === 'light' ? 'sun' : 'moon',
    run: () => chooseTheme(id),
  }))
  const byName = matching(text)
  return { title: words.commands, hits: [...places, ...looks].filter(({ label }) => byName(label)) }
}

/** Every word occurs. */
function matching(text: string): (name: string) => boolean {
  const parts = text.toLowerCase().split(/\s+/)
  return (name) => parts.every((part) => name.toLowerCase().includes(part))
}

/** Names that begin with the text come first. */
function best(hits: readonly Hit[], text: string): readonly Hit[] {
  const starts = ({ label }: Hit) => Number(!label.toLowerCase().startsWith(text.toLowerCase()))
  return hits.toSorted((a, b) => starts(a) - starts(b) || a.label.localeCompare(b.label)).slice(0, maxPerGroup)
}

const kinds: readonly { readonly type: string; readonly title: string; readonly icon: IconName }[] = [
  { type: 'clusters', title: words.clusters, icon: 'box' },
  { type: 'serverGroups', title: words.serverGroups, icon: 'box' },
  { type: 'instances', title: words.instances, icon: 'terminal' },
  { type: 'loadBalancers', title: words.loadBalancers, icon: 'balance' },
  { type: 'securityGroups', title: words.securityGroups, icon: 'lock' },
]

/** Infrastructure, asked after a pause in typing; the call before is given up. */
function useRemote(text: string): readonly Group[] {
  const [groups, setGroups] = useState<readonly Group[]>([])
  useEffect(() => {
    setGroups([])
    if (text.length < minRemote) return
    const call = new AbortController()
    const timer = setTimeout(() => {
      const query = { q: text, type: kinds.map(({ type }) => type).join(','), pageSize: 50 }
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

function toGroups(results: readonly Readonly<Record<string, unknown>>[]): readonly Group[] {
  return kinds.map(({ type, title, icon }) => ({
    title,
    hits: results
      .filter((result) => result['type'] === type)
      .flatMap((result) => toHit(type, icon, result))
      .slice(0, maxPerGroup),
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
  if (type === 'loadBalancers') return [{ label: value('loadBalancer'), detail, icon, href: to.loadBalancers(application) }]
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
