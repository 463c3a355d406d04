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
import { Failed, Running, Waiting } from './home-runs.tsx'
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
  const accounts = useAccounts().reading.value.body
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
          {!onlyWaiting && <Aside succeeded={runs.succeeded} accounts={accounts} />}
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
