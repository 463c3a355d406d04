/** Home: what waits for the reader, what failed, what runs, and what was deployed. */
import { useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { refreshAll, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { activeStatuses, isAny, search, searchPath, useActiveExecutions, waitingOf } from '../api/waiting.ts'
import { PageHead } from '../components/page-head.tsx'
import { ErrorState, Loading } from '../components/states.tsx'
import { Segments } from '../components/tabs.tsx'
import { useLetters } from '../letter-keys.ts'
import { presentMs } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'
import { FirstSteps } from './first-steps.tsx'
import { Aside } from './home-deployed.tsx'
import { Failed, longPage, Running, Waiting } from './home-runs.tsx'
import { useAccounts } from './infrastructure-head.tsx'

type Scope = 'mine' | 'all'

const dayMs = 86_400_000
/** What one search returns at most, with causes. */
const page = 100

export function Home({ query }: ScreenProps) {
  const scope = query['scope'] === 'mine' ? 'mine' : 'all'
  const onlyWaiting = query['show'] === 'waiting'
  const runs = useRuns(scope, onlyWaiting)
  const choose = useScope(scope)
  const waiting = waitingOf(runs.active.reading.value.body)
  const title = onlyWaiting ? 'Waiting for you' : 'Home'
  const others = onlyWaiting ? [] : [runs.own, runs.failed, runs.succeeded]
  const all = [runs.active, ...others].map((live) => live.reading.value)
  const isNew = !onlyWaiting && scope === 'all' && all.every(({ body }) => body?.length === 0)
  const isUnknown = all.every(({ body }) => body === undefined)
  const outage = isUnknown ? all.find(({ error }) => error !== undefined)?.error : undefined
  const accounts = useAccounts()
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
          {!onlyWaiting && <Aside succeeded={runs.succeeded} accounts={accounts.reading.value.body} />}
        </div>
      )}
    </>
  )
}

const scopes = [
  { id: 'mine', label: 'Mine' },
  { id: 'all', label: 'All' },
] as const

/** The choice whose runs are shown, and the letters of the screen. */
function useScope(scope: Scope): (scope: Scope) => void {
  const { route: navigate } = useLocation()
  const choose = (id: Scope) => navigate(id === 'all' ? to.home() : `${to.home()}?scope=${id}`, true)
  useLetters({
    m: () => choose(scope === 'mine' ? 'all' : 'mine'),
    ...Object.fromEntries(['1', '2', '3'].map((key) => [key, () => toBlock(Number(key) - 1)])),
  })
  return choose
}

/** The first row of a block, else its heading. */
function toBlock(at: number): void {
  const block = document.querySelectorAll<HTMLElement>('#main .panel')[at]
  const target = block?.querySelector<HTMLElement>('.row-link') ?? block?.querySelector<HTMLElement>('h2')
  if (target?.tagName === 'H2') target.tabIndex = -1
  target?.focus()
}

/** All reads of the screen, at once. */
function useRuns(scope: Scope, onlyWaiting: boolean) {
  const starter = scope === 'mine' ? user.value?.username : undefined
  const since = useMemo(() => String(Math.floor(presentMs() / 60_000) * 60_000 - dayMs), [])
  const active = useActiveExecutions('live')
  const wanted = (query: Parameters<typeof search>[0]) => (onlyWaiting ? undefined : search({ ...query, user: starter }))
  const own = useLive(searchPath, wanted({ statuses: activeStatuses }), { refresh: 'live', isBusy: isAny })
  const failedQuery = { statuses: 'TERMINAL', triggerTimeStartBoundary: since }
  const failed = useLive(searchPath, wanted(failedQuery), { refresh: 'steady' })
  // Counts go on where the list with causes ends.
  const isCut = failed.reading.value.body?.length === page
  const more = useLive(searchPath, isCut ? wanted({ ...failedQuery, size: longPage, expand: false }) : undefined, {
    refresh: 'slow',
  })
  const succeeded = useLive(searchPath, wanted({ statuses: 'SUCCEEDED', size: 30 }), { refresh: 'steady' })
  return { active, own, failed, more, succeeded }
}
