/** Home: what waits for the reader, what failed, what runs, and what was deployed. */
import { useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { type Live, refreshAll, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { activeStatuses, isAny, search, searchPath, useActiveExecutions, waitingOf } from '../api/waiting.ts'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { ErrorState, Loading } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Segments } from '../components/tabs.tsx'
import { Time } from '../components/time.tsx'
import { useLetters } from '../letter-keys.ts'
import { deploymentsOf, inOrder, toEnvironments, versionLabel } from '../model/deployments.ts'
import { type Execution, startedBy } from '../model/execution.ts'
import { favourites, recents } from '../model/recent.ts'
import { presentMs } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'
import { FirstSteps } from './first-steps.tsx'
import { Block, Failed, Running, Waiting } from './home-runs.tsx'
import { useAccounts } from './infrastructure-head.tsx'

const scopes = [
  { id: 'mine', label: 'Mine' },
  { id: 'all', label: 'All' },
] as const

const dayMs = 86_400_000

export function Home({ query }: ScreenProps) {
  const { route: navigate } = useLocation()
  const scope = query['scope'] === 'mine' ? 'mine' : 'all'
  const choose = (id: 'mine' | 'all') => navigate(to.home({ scope: id === 'mine' ? id : undefined }), true)
  useLetters({
    m: () => choose(scope === 'mine' ? 'all' : 'mine'),
    ...Object.fromEntries(['1', '2', '3'].map((key) => [key, () => toBlock(Number(key) - 1)])),
  })
  const onlyWaiting = query['show'] === 'waiting'
  const runs = useRuns(scope === 'mine' ? user.value?.username : undefined, onlyWaiting)
  // The side needs them: they are asked for at once.
  useAccounts()
  const waiting = waitingOf(runs.active.reading.value.body)
  const title = onlyWaiting ? 'Waiting for you' : 'Home'
  const all = Object.values(runs).flatMap((live) => (onlyWaiting && live !== runs.active ? [] : live.reading.value))
  const isNew = !onlyWaiting && scope === 'all' && all.every(({ body }) => body?.length === 0)
  const isUnknown = all.every(({ body }) => body === undefined)
  const outage = isUnknown ? all.find(({ error }) => error !== undefined)?.error : undefined
  return (
    <>
      <PageHead
        tab={waiting.length === 0 ? title : `(${waiting.length}) ${title}`}
        title={title}
        actions={!onlyWaiting && !isNew && <Segments label="Whose runs" options={scopes} selected={scope} onSelect={choose} />}
      />
      {isNew ? (
        <FirstSteps />
      ) : outage !== undefined ? (
        <ErrorState error={outage} onRetry={refreshAll} />
      ) : isUnknown ? (
        <Loading />
      ) : (
        <div class={onlyWaiting ? '' : 'home'}>
          <div class="stack">
            <Waiting live={runs.active} waiting={waiting} of={scope} />
            {!onlyWaiting && <Failed {...runs} of={scope} />}
            {!onlyWaiting && <Running live={runs.own} waiting={waiting} of={scope} />}
          </div>
          {!onlyWaiting && <Aside succeeded={runs.succeeded} />}
        </div>
      )}
    </>
  )
}

/** The first row of a block, else its heading. */
function toBlock(at: number): void {
  const block = document.querySelectorAll<HTMLElement>('#main .panel')[at]
  const target = block?.querySelector<HTMLElement>('.row-link') ?? block?.querySelector<HTMLElement>('h2')
  if (target?.tagName === 'H2') target.tabIndex = -1
  target?.focus()
}

/** All reads of the screen, at once. */
function useRuns(starter: string | undefined, onlyWaiting: boolean) {
  const since = useMemo(() => String(Math.floor(presentMs() / 60_000) * 60_000 - dayMs), [])
  const wanted = (query: Parameters<typeof search>[0]) => (onlyWaiting ? undefined : search({ ...query, user: starter }))
  return {
    active: useActiveExecutions('live'),
    own: useLive(searchPath, wanted({ statuses: activeStatuses }), { refresh: 'live', isBusy: isAny }),
    failed: useLive(searchPath, wanted({ statuses: 'TERMINAL', triggerTimeStartBoundary: since }), { refresh: 'steady' }),
    succeeded: useLive(searchPath, wanted({ statuses: 'SUCCEEDED', size: 30 }), { refresh: 'steady' }),
  }
}

const maxDeployed = 8

/** What was deployed lately, favourites, what was opened last. */
function Aside({ succeeded }: { succeeded: Live<readonly Execution[]> }) {
  const environments = toEnvironments(useAccounts().reading.value.body ?? [])
  const placesOf = (names: readonly string[]) =>
    inOrder([...new Set(names.map((name) => environments.get(name) ?? name))], [], environments).join(', ')
  const runs = (succeeded.reading.value.body ?? []).filter((run) => deploymentsOf(run).length > 0).slice(0, maxDeployed)
  const row = (run: Execution) => (
    <div class="run-row two-lines">
      <StatusMark kind="succeeded" label="succeeded" />
      <div class="grow">
        {deploymentsOf(run).map(({ image, accounts: names }) => (
          <a key={image} class="row-link" href={to.execution(run.id)}>
            <span class="row-title">
              <Name text={run.application} max={30} /> <Name text={versionLabel(image)} max={24} />
            </span>
            <span class="muted"> to {placesOf(names)}</span>
          </a>
        ))}
        <div class="cut muted">
          <Name text={[run.name, startedBy(run)].filter(Boolean).join(', by ')} max={60} />
        </div>
      </div>
      <span class="muted aside">
        <Time at={run.endTime ?? run.startTime} />
      </span>
    </div>
  )
  return (
    <div class="stack">
      <Block
        title="Deployed lately"
        actions={<a href={to.environments()}>Environments</a>}
        live={succeeded}
        items={runs}
        keyOf={({ id }) => id}
        none="Nothing was deployed lately."
        row={row}
      />
      <Shortcuts />
    </div>
  )
}

/** Favourites, and what was opened last. */
function Shortcuts() {
  const starred = favourites.value.map((label) => ({ label, href: to.application(label) }))
  const shown = [...starred, ...recents.value.filter(({ href }) => !starred.some((one) => one.href === href))]
  if (shown.length === 0) return null
  return (
    <Panel title={starred.length > 0 ? 'Favourites and recently opened' : 'Recently opened'}>
      <p class="chips">
        {shown.map(({ label, href }) => (
          <a key={href} href={href} class="chip">
            <Icon name="apps" />
            <Name text={label} max={30} />
          </a>
        ))}
      </p>
    </Panel>
  )
}
