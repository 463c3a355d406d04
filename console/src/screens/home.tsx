/** Home: what waits for the reader, what runs, what failed, and what was deployed. */

import { sameCauseKey } from '@fairlead/base/causes/same-cause.ts'
import { objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { imageLabelOf } from '@fairlead/model/environments/images.ts'
import { inOrder } from '@fairlead/model/environments/order.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { type ScreenProps, to, useNavigate } from '../address.ts'
import { useAccounts } from '../api/cloud-providers.ts'
import { type Live, refreshAll, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { useStandings } from '../api/standings.ts'
import {
  activeStatuses,
  isAny,
  rolesToJudge,
  search,
  searchPath,
  useActiveExecutions,
  useWaiting,
} from '../api/waiting.ts'
import { Banner, Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { ErrorState, Loaded, Loading, PageHead, Panel } from '../components/screen.tsx'
import { Segments } from '../components/tabs.tsx'
import { Duration, Name, StatusMark, Time, usePhone } from '../components/text.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { useLetters } from '../letter-keys.ts'
import {
  type Execution,
  failureOf,
  isWaiting,
  newestFirst,
  progressOf,
  type Status,
  shortId,
  startedBy,
  statusOf,
  titleOf,
} from '../model/execution.ts'
import { favourites, recents } from '../model/recent.ts'
import { deploymentsOf, toEnvironments } from '../model/run-deployments.ts'
import { formatMinute, presentMs } from '../model/time.ts'
import { plural } from '../words.ts'
import { FirstSteps } from './first-steps.tsx'

const scopes = [
  { id: 'mine', label: 'Mine' },
  { id: 'all', label: 'All' },
] as const

export function Home({ query }: ScreenProps) {
  const navigate = useNavigate()
  const scope = query['scope'] === 'mine' ? 'mine' : 'all'
  const choose = (id: 'mine' | 'all') =>
    navigate(to.home({ scope: id === 'mine' ? id : undefined }), true)
  const toOther = () => choose(scope === 'mine' ? 'all' : 'mine')
  useLetters({ m: toOther, 1: () => toBlock(0), 2: () => toBlock(1), 3: () => toBlock(2) })
  const onlyWaiting = query['show'] === 'waiting'
  const { active, ...others } = useRuns(
    scope === 'mine' ? user.value?.username : undefined,
    onlyWaiting,
  )
  // The side needs them: they are asked for at once.
  useAccounts()
  const known = useWaiting(active.body)
  const waiting = known ?? []
  const title = onlyWaiting ? 'Waiting for you' : 'Home'
  const readings = onlyWaiting ? [active] : [active, ...Object.values(others)]
  const isNew = !onlyWaiting && scope === 'all' && readings.every(({ body }) => body?.length === 0)
  const isUnknown = readings.every(({ body }) => body === undefined)
  const outage = isUnknown ? readings.find(({ error }) => error !== undefined)?.error : undefined
  const own = { ...waitingBlock(active, known), of: scope }
  return (
    <>
      <PageHead
        tab={waiting.length === 0 ? title : `(${waiting.length}) ${title}`}
        title={title}
        actions={
          !onlyWaiting &&
          !isNew && (
            <Segments label="Whose runs" options={scopes} selected={scope} onSelect={choose} />
          )
        }
      />
      {isNew ? (
        <FirstSteps />
      ) : outage !== undefined ? (
        <ErrorState error={outage} onRetry={refreshAll} />
      ) : isUnknown ? (
        <Loading />
      ) : onlyWaiting ? (
        <Block {...own} />
      ) : (
        <div class="home">
          <div class="stack">
            <Headline {...others} waiting={waiting} />
            <OwnFindings />
            <Block {...own} more={to.home({ show: 'waiting' })} />
            <Others {...others} waiting={waiting} of={scope} />
          </div>
          <div class="stack">
            <DeployedLately live={others.succeeded} />
            <Shortcuts />
          </div>
        </div>
      )}
    </>
  )
}

/** Opens from every page: what waits for the reader, what the reader began, and what becomes of the reader's commits. */
export function NotificationCentre() {
  const name = user.value?.username
  const { active, own, failed, succeeded } = useRuns(name, false)
  const concerning = useLive(searchPath, name ? search({ concernsMe: true, size: 30 }) : undefined)
  const bodyOf = ({ body }: Runs) => body ?? []
  // A run that ends between two reads is in both.
  const byId = new Map([own, failed, succeeded].flatMap(bodyOf).map((run) => [run.id, run]))
  const begun = newestFirst([...byId.values()])
  const others = bodyOf(concerning).filter((run) => startedBy(run) !== name)
  return (
    <Dialog title="Notifications">
      <div class="stack">
        <Block
          {...waitingBlock(active, useWaiting(active.body))}
          more={to.home({ show: 'waiting' })}
        />
        <Block
          title="You began"
          none="You began no run lately."
          live={own}
          items={begun}
          row={stateRow}
          more={to.home({ scope: 'mine' })}
        />
        <Block
          title="Your commits"
          none="No run has built or deployed a commit of yours lately."
          live={concerning}
          items={others}
          row={stateRow}
          more={to.runs(undefined, { q: name })}
        />
      </div>
    </Dialog>
  )
}

function stateRow(run: Execution) {
  const status = statusOf(run)
  const back = objectsOf(run.systemNotifications).findLast(({ group }) => group === 'rollback')
  const why = scalarOf(back?.['message']) ?? (isFailure(run) && causeOf(run))
  const about = <Name text={why || status.word} max={120} />
  return <Row run={run} status={status} about={about} end={<Time at={run.buildTime} />} />
}

/** The first row of a block, else its heading. */
function toBlock(at: number) {
  const block = document.querySelectorAll<HTMLElement>('#main .panel')[at]
  const target =
    block?.querySelector<HTMLElement>('.row-link') ?? block?.querySelector<HTMLElement>('h2')
  if (target?.tagName === 'H2') target.tabIndex = -1
  target?.focus()
}

type Runs = Live<readonly Execution[]>
type Reads = Readonly<Record<'active' | 'own' | 'failed' | 'succeeded', Runs>>

/** All reads of the screen, at once. */
function useRuns(starter: string | undefined, onlyWaiting: boolean): Reads {
  const since = useMemo(() => String(Math.floor(presentMs() / 60_000) * 60_000 - 86_400_000), [])
  const wanted = (query: Parameters<typeof search>[0]) =>
    onlyWaiting ? undefined : search({ ...query, user: starter })
  return {
    active: useActiveExecutions('live'),
    own: useLive(searchPath, wanted({ statuses: activeStatuses }), {
      refresh: 'live',
      isBusy: isAny,
    }),
    failed: useLive(searchPath, wanted({ statuses: 'TERMINAL', triggerTimeStartBoundary: since })),
    succeeded: useLive(searchPath, wanted({ statuses: 'SUCCEEDED', size: 30 })),
  }
}

interface BlockProps<Item> {
  readonly title: string
  readonly count?: string
  readonly actions?: ComponentChildren
  readonly live: Runs
  /** Undefined while they are not known. */
  readonly items: readonly Item[] | undefined
  /** Text when there is none. */
  readonly none: string
  readonly row: (item: Item) => VNode
  /** Whose runs they are. */
  readonly of?: string
  /** Where those beyond the first are; without it all are shown. */
  readonly more?: string
}

function Block<Item extends { readonly id: string }>(props: BlockProps<Item>) {
  const {
    title,
    live,
    items,
    none,
    row,
    of = '',
    count = live.body && items?.length,
    actions,
    more,
  } = props
  // What runs is in view on phones, too.
  const most = usePhone() ? 3 : 5
  const shown = more === undefined ? items : items?.slice(0, most)
  const rows = (
    <VirtualList
      label={title}
      items={shown ?? []}
      keyOf={({ id }) => id}
      rowHeight={57}
      heldOf={of}
      row={row}
    />
  )
  const nothing = <p class="muted">{none}</p>
  return (
    <Panel title={title} count={count} flush={!!items?.length} actions={actions || undefined}>
      <Loaded live={live} rows={2} empty={nothing}>
        {() => (items === undefined ? <Loading rows={2} /> : items.length === 0 ? nothing : rows)}
      </Loaded>
      {more !== undefined && (items?.length ?? 0) > most && (
        <a class="more-rows" href={more}>{`${(items?.length ?? 0) - most} more`}</a>
      )}
    </Panel>
  )
}

interface RowProps {
  readonly run: Execution
  readonly status: Status
  readonly href?: string
  readonly title?: ComponentChildren
  /** Beside the title. */
  readonly beside?: ComponentChildren
  /** Below it. */
  readonly about: ComponentChildren
  readonly end: ComponentChildren
}

function Row({
  run: { application, name, id },
  status,
  href = to.execution(id),
  title,
  beside,
  about,
  end,
}: RowProps) {
  return (
    <div class="run-row two-lines">
      <StatusMark kind={status.kind} label={status.word} />
      <div class="grow">
        <a class="row-link" href={href}>
          {title ?? (
            <span class="row-title">
              <Name class="muted" text={`${application} /`} max={32} />{' '}
              <Name text={name ?? id} max={50} />
            </span>
          )}
        </a>{' '}
        {beside ?? <span class="run-id">{shortId(id)}</span>}
        <div class="cut muted">{about}</div>
      </div>
      <span class="row muted aside">{end}</span>
    </div>
  )
}

function waitingBlock(live: Runs, items: readonly Execution[] | undefined) {
  const words = { title: 'Waiting for you', none: 'Nothing waits for you.' }
  return { ...words, live, items, row: waitingRow }
}

async function review({ application, id: execution }: Execution, stage: string | undefined) {
  const { openReview } = await import('./review.tsx')
  openReview({ application, execution, stage })
}

function waitingRow(run: Execution) {
  const stage = run.stages.find(isWaiting)
  const href = to.execution(run.id, { stage: stage?.id })
  const about = stage && (
    <Name text={scalarOf(stage.context['instructions']) ?? titleOf(stage)} max={120} />
  )
  const end = [
    <Time key="time" at={stage?.startTime} />,
    <Button key="judge" kind="primary" small onClick={() => void review(run, stage?.id)}>
      Review
    </Button>,
  ]
  return (
    <Row
      run={run}
      status={{ kind: 'waiting', word: 'Waiting for you' }}
      href={href}
      about={about}
      end={end}
    />
  )
}

interface OthersProps extends Omit<Reads, 'active'> {
  readonly waiting: readonly Execution[]
  readonly of: string
}

/** Applications of one owner that are asked for. */
const mostOwned = 10

function OwnFindings() {
  const { username, email } = user.value ?? {}
  const applications = useLive('/applications', {}, 'slow').body ?? []
  const owned = applications.filter(
    (each) => !!each.email && (each.email === email || each.email === username),
  )
  return owned.slice(0, mostOwned).map(({ name }) => <FindingsOf key={name} application={name} />)
}

/** Where something cannot work as it is written. */
function FindingsOf({ application }: { application: string }) {
  const { body = [] } = useLive(
    '/applications/{application}/findings',
    { path: { application } },
    'rare',
  )
  const severities = body.flatMap(({ findings }) => findings.map(({ severity }) => severity))
  if (!severities.includes('error')) return null
  return (
    <Banner tone="warning">
      <a href={to.pipelines(application)}>
        {plural(severities.length, 'finding')} in <Name text={application} max={40} />
      </a>
    </Banner>
  )
}

/** What runs, what failed, and what waits for somebody else. */
function Others({ own, failed, succeeded, waiting, of }: OthersProps) {
  const failures = failed.body?.filter(isFailure)
  const others = (own.body ?? []).filter(({ id }) => waiting.every((one) => one.id !== id))
  const { true: waitingElsewhere = [], false: running = [] } = Object.groupBy(others, (run) =>
    String(run.stages.some(isWaiting)),
  )
  const more = to.runs(undefined, { status: 'active' })
  const active = { live: own, row: runningRow, of, more }
  return (
    <>
      <Block {...active} title="Running" items={running} none="Nothing is running." />
      <Block
        title="Failed in the last 24 hours"
        count={failures && `${failures.length}${failures.length === 100 ? '+' : ''}`}
        actions={
          !!failures?.length && (
            <a href={to.runs(undefined, { status: 'failed', from: '24h' })}>All failed runs</a>
          )
        }
        live={failed}
        items={failures && toFailedGroups(failures)}
        none="Nothing failed in the last 24 hours."
        row={(group) => failedRow(group.runs, succeeded.body)}
        of={of}
        more={to.runs(undefined, { status: 'failed', from: '24h' })}
      />
      {waitingElsewhere.length > 0 && (
        <Block
          {...active}
          title="Waiting for others"
          items={waitingElsewhere}
          none="Nothing waits for others."
        />
      )}
    </>
  )
}

/** What waits for others says for whom. */
function runningRow(run: Execution) {
  const status = statusOf(run)
  const { done, total } = progressOf(run.stages)
  const current = run.stages.find((stage) => stage.status === 'RUNNING' && !stage.parentStageId)
  const step = current
    ? titleOf(current)
    : run.status === 'PAUSED'
      ? status.word
      : 'waits for its turn'
  const roles = run.stages.filter(isWaiting).flatMap(({ context }) => rolesToJudge(context))
  const about = (
    <span class="row">
      <progress aria-hidden="true" value={done} max={Math.max(1, total)} />
      <Name text={step} max={40} />
      {roles.length > 0 && ` waits for ${roles.join(', ')}`}
    </span>
  )
  const by = startedBy(run)
  const end = [
    <span key="progress" class="hide-phone">{`${done} of ${plural(total, 'stage')}`}</span>,
    by !== undefined && <Name key="starter" class="hide-phone" text={by} max={20} />,
    <Duration key="duration" from={run.startTime ?? run.buildTime} />,
  ]
  return <Row run={run} status={status} about={about} end={end} />
}

/** What a user has stopped at a judgment has not failed. */
function isFailure(run: Execution) {
  const leaf = failureOf(run)?.stage
  return leaf?.type !== 'manualJudgment' || leaf.context['judgmentStatus'] === undefined
}

/** The line that says why, else what the engine says. */
function causeOf(run: Execution) {
  const failure = failureOf(run)
  return failure?.cause?.text ?? failure?.reason
}

/** Runs that failed for the same cause are one row; the newest first. */
function toFailedGroups(runs: readonly Execution[]) {
  const groups = Map.groupBy(runs, (run) => {
    const { cause, reason = run.id } = failureOf(run) ?? {}
    return cause === undefined ? reason : sameCauseKey(cause, pipelineOf(run))
  })
  return [...groups].map(([id, all]) => ({ id, runs: all as [Execution, ...Execution[]] }))
}

const pipelineOf = ({ application, pipelineConfigId, name }: Execution) =>
  `${application} ${pipelineConfigId ?? name}`

interface HeadlineProps extends Omit<Reads, 'active' | 'own'> {
  readonly waiting: readonly Execution[]
}

/** What waits, what broke and for how many causes, and how that stands which the reader looks at. */
function Headline({ waiting, failed, succeeded }: HeadlineProps) {
  const names = useShortcuts()
  const standings = useStandings((found) => names.filter((name) => !found.has(name)).slice(0, 20))
  const latest = new Map(
    (succeeded.body ?? []).toReversed().map((run) => [pipelineOf(run), run.buildTime ?? 0]),
  )
  const broken = (failed.body ?? []).filter(
    (run) => isFailure(run) && (run.buildTime ?? 0) > (latest.get(pipelineOf(run)) ?? 0),
  )
  const groups = toFailedGroups(broken)
  const [first] = groups
  const known = names.flatMap((name) => {
    const standing = standings.get(name)
    return standing?.total ? [{ name, ...standing }] : []
  })
  const ill = known.filter(({ up, total }) => up < total)
  const pipelines = new Set(broken.map(pipelineOf)).size
  const since = broken.at(-1)?.startTime
  const reason = first && causeOf(first.runs[0])
  const causes =
    groups.length === 1 && reason
      ? `, for one cause: ${reason} (${plural(broken.length, 'run')})`
      : `, for ${plural(groups.length, 'cause')}`
  return (
    <p class="home-headline">
      {waiting.length === 0
        ? 'Nothing waits for you.'
        : `${waiting.length} ${waiting.length === 1 ? 'waits' : 'wait'} for you.`}{' '}
      <Name
        text={
          pipelines === 0
            ? 'No pipeline is broken.'
            : `${plural(pipelines, 'pipeline')} broke${since ? ` since ${formatMinute(since)}` : ''}${causes}.`
        }
        max={240}
      />{' '}
      {known.length > 0 &&
        (ill.length === 0
          ? `${plural(known.length, 'application')} that you use ${known.length === 1 ? 'is' : 'are'} well.`
          : `Not all instances are up: ${ill.map(({ name }) => name).join(', ')}.`)}
    </p>
  )
}

function failedRow(
  [run, ...older]: readonly [Execution, ...Execution[]],
  succeeded: readonly Execution[] = [],
) {
  const { application, pipelineConfigId: pipeline, name, buildTime } = run
  const failure = failureOf(run)
  const firstMs = older.at(-1)?.endTime
  const since = succeeded.find(
    (one) =>
      one.application === application &&
      one.pipelineConfigId === pipeline &&
      (one.buildTime ?? 0) > (buildTime ?? 0),
  )
  const others = new Set([run, ...older].map(pipelineOf)).size - 1
  const times =
    older.length === 0 ? undefined : (
      <a
        class="raised"
        href={
          others > 0
            ? to.runs(undefined, { status: 'failed', from: '24h' })
            : to.runs(application, { pipeline: name ?? undefined, status: 'failed', from: '24h' })
        }
      >
        {`${others > 0 ? `and ${plural(others, 'more pipeline')} ` : ''}failed ${older.length + 1} times${firstMs ? ` since ${formatMinute(firstMs)}` : ''}`}
      </a>
    )
  const about = failure && (
    <>
      <strong>
        <Name text={titleOf(failure.path[0] ?? failure.stage)} max={40} />
      </strong>{' '}
      <Name text={causeOf(run) ?? ''} max={160} />
    </>
  )
  const end = (
    <>
      {since !== undefined && (
        <a class="chip" href={to.execution(since.id)}>
          <StatusMark kind="succeeded" /> succeeded since
        </a>
      )}
      <Time at={run.endTime ?? run.startTime} />
    </>
  )
  return (
    <Row
      run={run}
      status={{ kind: 'failed', word: 'failed' }}
      beside={times}
      about={about}
      end={end}
    />
  )
}

/** Each image that a run has deployed. */
function DeployedLately({ live }: { live: Runs }) {
  const environments = toEnvironments(useAccounts().body ?? [])
  const placesOf = (accounts: readonly string[]) =>
    inOrder([...new Set(accounts.map((name) => environments.get(name) ?? name))], []).join(', ')
  const items = (live.body ?? []).flatMap((run) =>
    deploymentsOf(run).map(({ image, accounts }) => ({
      id: `${run.id} ${image}`,
      run,
      image,
      accounts,
    })),
  )
  const row = ({ run, image, accounts }: (typeof items)[number]) => {
    const title = [
      <span key="title" class="row-title">
        <Name text={run.application} max={30} /> <Name text={imageLabelOf(image)} max={24} />
      </span>,
      <span key="places" class="muted">{` to ${placesOf(accounts)}`}</span>,
    ]
    const about = <Name text={[run.name, startedBy(run)].filter(Boolean).join(', by ')} max={60} />
    const end = <Time at={run.endTime ?? run.startTime} />
    return (
      <Row
        run={run}
        status={{ kind: 'succeeded', word: 'succeeded' }}
        title={title}
        beside=""
        about={about}
        end={end}
      />
    )
  }
  return (
    <Block
      title="Deployed lately"
      actions={<a href={to.environments()}>Environments</a>}
      live={live}
      items={items.slice(0, 8)}
      none="Nothing was deployed lately."
      row={row}
    />
  )
}

function useShortcuts() {
  return [...new Set([...favourites.value, ...recents.value])]
}

/** Favourites and what was opened last, with their instances. */
function Shortcuts() {
  const shown = useShortcuts()
  const standings = useStandings((found) => shown.filter((name) => !found.has(name)).slice(0, 20))
  if (shown.length === 0) return null
  return (
    <Panel
      title={favourites.value.length > 0 ? 'Favourites and recently opened' : 'Recently opened'}
    >
      <p class="chips">
        {shown.map((name) => {
          const { up = 0, total = 0 } = standings.get(name) ?? {}
          const word = total === 0 ? 'nothing deployed' : `${up} of ${total} up`
          const kind = total === 0 ? 'queued' : up < total ? 'failed' : 'succeeded'
          return (
            <a key={name} href={to.application(name)} class="chip" title={word}>
              <StatusMark kind={kind} label={word} />
              <Name text={name} max={30} />
            </a>
          )
        })}
      </p>
    </Panel>
  )
}
