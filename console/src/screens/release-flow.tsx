/** Releases of an application on their way: commits, environments with what they run, promotions between them, and when it happened. */
import { type ComponentChildren, Fragment } from 'preact'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, startOperation, useAllowed, useDenial } from '../api/rights.ts'
import { Button } from '../components/button.tsx'
import { GroupCharts } from '../components/group-charts.tsx'
import { HealthMarks } from '../components/health-marks.tsx'
import { kept } from '../components/kept.tsx'
import { ApplicationOpenLinks } from '../components/open-link.tsx'
import { Loading, Stale } from '../components/screen.tsx'
import { Duration, Name, NameLink, StatusMark, Time } from '../components/text.tsx'
import { usePortions } from '../components/virtual-list.tsx'
import {
  accountOf,
  groupPlace,
  isEnabled,
  loadBalancersOf,
  type ServerGroup,
  sharersOf,
  toRollBack,
} from '../model/server-groups.ts'
import { formatExact, now } from '../model/time.ts'
import { percent, shareOf } from '../model/traffic.ts'
import { plural } from '../words.ts'
import { Commits, Conditions, openReview } from './review.tsx'
import { chooseRollBack } from './roll-back.tsx'

type Environment = Schemas['Environment']
type Promotion = Schemas['EnvironmentPromotion']
type Release = Schemas['Release']

const [mostCommits, mostBetween, columnsAtOnce] = [8, 4, 1]

interface FlowProps {
  readonly application: string
  readonly groups: readonly ServerGroup[]
  readonly isChanging: boolean
}

export function ReleaseFlow({ application, groups, isChanging }: FlowProps) {
  const path = { application }
  const refresh = isChanging ? 'live' : 'steady'
  const live = useLive(
    '/applications/{application}/environments',
    { path },
    { refresh, events: 'infrastructure' },
  )
  const listed = useLive(
    '/applications/{application}/releases',
    { path },
    { refresh, events: 'executions' },
  )
  const releases = listed.body ?? []
  const { body: found, error } = live
  const known = found?.environments ?? []
  const environments = known.filter(
    ({ versions, promotion }) => versions.length > 0 || promotion?.images.length,
  )
  const mayJudge = useAllowed(startOperation, [application]).get(application) === true
  const drawn = environments.slice(0, usePortions(environments.length, columnsAtOnce, application))
  if (found === undefined && error === undefined) return <Loading rows={6} />
  if (environments.length === 0 && releases.length === 0) return null
  const last = environments.findLast(({ versions }) => versions.length > 0)
  return (
    <section class="flow-page" aria-label="Releases">
      <Stale live={live} />
      <p class="flow-headline">
        <Name text={headline(environments, last, mayJudge)} max={200} />
      </p>
      {found?.declared === false && environments.length > 1 && (
        <p>
          {`You deploy to ${environments.map(({ name }) => name).join(' and ')}. `}
          <a class="button small" href={to.settings(application, { tab: 'environments' })}>
            Make them a way to production
          </a>
        </p>
      )}
      <div class="flow">
        <section class="flow-commits panel" aria-label="Commits">
          <h2>Commits</h2>
          {listed.body === undefined && listed.error === undefined ? (
            <Loading rows={3} />
          ) : (
            <ReleaseList application={application} releases={releases.slice(0, mostCommits)} />
          )}
        </section>
        {drawn.map((environment) => (
          <Fragment key={environment.name}>
            {environment.promotion && (
              <Between
                application={application}
                environment={environment}
                promotion={environment.promotion}
              />
            )}
            <Column
              application={application}
              environment={environment}
              groups={groups.filter((group) => environment.accounts.includes(accountOf(group)))}
              releases={releases}
            />
          </Fragment>
        ))}
      </div>
      {drawn.length === environments.length && (
        <Timeline environments={environments} releases={releases} />
      )}
    </section>
  )
}

const labelsOf = ({ versions }: Environment) => [...new Set(versions.map(({ label }) => label))]

/** What was rolled back there would come again. */
const isBack = ({ promotion, rollback }: Environment) =>
  promotion?.images.some((each) => each.to === rollback?.from) === true

/** What serves where it matters most, and what may go on. */
function headline(
  environments: readonly Environment[],
  last: Environment | undefined,
  mayJudge: boolean,
) {
  if (last === undefined) return 'Nothing is deployed yet.'
  const { name, health, rollback } = last
  const parts = [`${name} serves ${labelsOf(last).slice(0, 3).join(', ')}`]
  if (health.up < health.total)
    parts.push(`${health.total - health.up} of ${plural(health.total, 'instance')} not up`)
  if (rollback)
    parts.push(`rolled back from ${rollback.from}${rollback.user ? ` by ${rollback.user}` : ''}`)
  const ready = environments.find(
    ({ promotion }) => promotion?.images.length || promotion?.runs.length,
  )
  if (ready?.promotion) {
    const { commits, runs, images } = ready.promotion
    const [run] = runs
    const what =
      commits.length > 0
        ? plural(commits.length, 'commit')
        : images.map((each) => each.to).join(', ')
    const wait = commits.length === 1 || commits.length === 0 ? 'waits' : 'wait'
    if (run?.['judgment'])
      parts.push(
        `${what} ${wait} for ${mayJudge ? 'your approval' : 'an approval'} to ${ready.name}`,
      )
    else if (run && what === '') parts.push(`${run.pipeline} is under way`)
    else if (run) parts.push(`${what} under way to ${ready.name}: ${run.waitsFor ?? run.pipeline}`)
    else parts.push(`${what} may go to ${ready.name}${isBack(ready) ? ' again' : ''}`)
  }
  return parts.join(' · ')
}

function ReleaseList({
  application,
  releases,
}: {
  application: string
  releases: readonly Release[]
}) {
  return (
    <ul class="plain-list commits">
      {releases.map(({ version, commit, serves, atMs, ...release }) => {
        const [last] = release.events
        const failure = release.failure ?? (last?.state === 'failed' ? last.text : undefined)
        return (
          <li key={version}>
            <span class="row">
              <StatusMark
                kind={serves.length > 0 ? 'succeeded' : failure ? 'failed' : 'queued'}
                size={12}
              />
              <NameLink
                class="cut"
                href={to.release(application, version)}
                text={commit?.message?.split('\n')[0] || version}
                max={48}
              />
            </span>
            <span class="muted">
              {commit?.message && !release.failure && <Name text={version} max={20} />}{' '}
              {failure && <b class="is-behind">{failure}</b>}{' '}
              <Name text={commit?.author ?? ''} max={20} /> <Time at={atMs} />
              {serves.length > 0 && ` in ${serves.join(', ')}`}
            </span>
          </li>
        )
      })}
      {releases.length === 0 && (
        <li class="muted">No run of the last weeks has built or deployed a version.</li>
      )}
    </ul>
  )
}

interface ColumnProps {
  readonly application: string
  readonly environment: Environment
  /** In its accounts. */
  readonly groups: readonly ServerGroup[]
  readonly releases: readonly Release[]
}

/** A column whose environment stays is not drawn again when another one changes. */
const Column = kept(({ application, environment, groups, releases }: ColumnProps) => {
  const { name, accounts, clusters, health, sinceMs, rollback, drift } = environment
  const denied = useDenial(changeOperation, application, accounts[0])
  const names = clusters.flatMap((cluster) =>
    cluster.serverGroups.map((group) => `${cluster.account} ${cluster.region} ${group}`),
  )
  const own = groups.filter((group) =>
    names.includes(`${accountOf(group)} ${group.region} ${group.name}`),
  )
  const serving = own.filter(isEnabled)
  // Two versions share the traffic on purpose.
  const isShared = serving.some((group) => typeof group['trafficPercent'] === 'number')
  const [run] = rollback
    ? []
    : clusters
        .flatMap((cluster) => cluster.run ?? [])
        .toSorted((a, b) => (b.atMs ?? 0) - (a.atMs ?? 0))
  const release = releases.find(({ images }) =>
    environment.versions.some(({ image }) => images.includes(image)),
  )
  const { commit, events = [] } = release ?? {}
  const deployed = events.find(
    (event) => event.kind === 'deployment' && event.state === 'good' && event.environment === name,
  )
  const approved = events.find(
    ({ kind, state, run: judged }) =>
      kind === 'judgment' && state === 'good' && judged && judged === deployed?.run,
  )
  const user = run?.user ?? (rollback ? undefined : deployed?.user)
  const failed = lastFailure(releases, environment)
  const canRollBack = toRollBack(groups, clusters).length > 0
  const kind =
    health.total === 0
      ? 'queued'
      : health.state === 'up'
        ? 'succeeded'
        : health.state === 'disabled'
          ? 'disabled'
          : 'failed'
  const place = accounts.filter((account) => account !== name).join(', ')
  return (
    <section class={`flow-column panel is-${kind}`} aria-label={name}>
      <h2>
        <StatusMark kind={kind} label={health.state} /> <Name text={name} max={30} />
        {place !== '' && <Name class="muted regular" text={place} max={30} />}
      </h2>
      <p class="flow-version">
        {labelsOf(environment).map((label) => (
          <NameLink key={label} href={to.release(application, label)} text={label} max={30} />
        ))}
        {environment.versions.length === 0 && <span class="muted">nothing yet</span>}
      </p>
      {commit?.message && (
        <p>
          <Name text={commit.message.split('\n')[0] ?? ''} max={60} />{' '}
          <Name class="muted" text={commit.author ?? ''} max={20} />
        </p>
      )}
      <ul class="plain-list">
        {serving.slice(0, 6).map((group) => (
          <li key={`${group.region} ${group.name}`} class="row wraps">
            <HealthMarks
              group={group}
              hrefOf={() => to.serverGroup(application, groupPlace(group))}
            />
            <Share group={group} groups={groups} />
          </li>
        ))}
      </ul>
      {serving.length > 0 && <GroupCharts groups={serving.slice(isShared ? -2 : 0).slice(0, 2)} />}
      <p class="muted">
        {sinceMs ? (
          <>
            serving for <Duration from={sinceMs} />
          </>
        ) : (
          ''
        )}
        {user && ` by ${user}`}
        {run && (
          <>
            {', '}
            <NameLink href={to.execution(run.id)} text={run.pipeline} max={30} />
          </>
        )}
        {approved?.user && `, approved by ${approved.user}`}
        {approved?.comment && `: ${approved.comment}`}
      </p>
      {rollback && (
        <p class="is-behind">
          Rolled back from <Name text={rollback.from} /> {rollback.user && `by ${rollback.user} `}
          <Time at={rollback.atMs} />
          {rollback.reason && `: ${rollback.reason}`}
        </p>
      )}
      {failed && (
        <p class="is-behind">
          <NameLink
            href={failed.run ? to.execution(failed.run) : undefined}
            text={`${failed.version} ${failed.text}`}
          />{' '}
          <Time at={failed.atMs} />
        </p>
      )}
      {!rollback &&
        !isShared &&
        drift.slice(0, 2).map(({ text }) => (
          <p key={text} class="is-behind">
            <Name text={text} max={120} />
          </p>
        ))}
      <div class="row wraps">
        <ApplicationOpenLinks
          application={application}
          names={serving.flatMap(loadBalancersOf)}
          accounts={accounts}
        />
        {canRollBack && (
          <Button
            small
            icon="undo"
            denied={denied}
            onClick={() => void chooseRollBack(application, clusters)}
          >
            {`Roll back ${name}`}
          </Button>
        )}
      </div>
    </section>
  )
})

/** The share of the traffic, with a word for what serves beside the others. */
function Share({ group, groups }: { group: ServerGroup; groups: readonly ServerGroup[] }) {
  const sharers = sharersOf(group, groups).filter(isEnabled)
  const given = group['trafficPercent'] !== undefined && group['trafficPercent'] !== null
  if (sharers.length === 0) return null
  const share = percent(shareOf(group, sharers))
  const part = { width: share.replace(' ', '') }
  return (
    <span class="flow-share">
      {sharers.length > 1 && <span class={given ? 'is-part' : ''} style={part} />}
      {`${share} of traffic${given ? `, ${group.moniker?.detail ?? group.name}` : ''}`}
    </span>
  )
}

/** The newest deployment that has not come up since the environment serves what it does. */
function lastFailure(releases: readonly Release[], { name, sinceMs }: Environment) {
  return releases
    .flatMap(({ version, events }) => events.map((event) => ({ version, ...event })))
    .filter(
      ({ kind, state, environment, atMs }) =>
        kind === 'deployment' &&
        state === 'failed' &&
        environment === name &&
        (atMs ?? 0) > (sinceMs ?? 0),
    )
    .toSorted((a, b) => (b.atMs ?? 0) - (a.atMs ?? 0))[0]
}

interface BetweenProps {
  readonly application: string
  readonly environment: Environment
  readonly promotion: Promotion
}

/** The promotion: commits between, and its conditions with their evidence. */
function Between({ application, environment, promotion }: BetweenProps) {
  const { name, versions } = environment
  const { commits, images, conditions, runs, manifests, holds } = promotion
  const [run] = runs
  const isSame = images.length === 0 && run === undefined
  const count =
    commits.length > 0
      ? plural(commits.length, 'commit')
      : isSame
        ? 'the same'
        : images.map((each) => each.to).join(', ') || 'under way'
  const review = () =>
    openReview(
      run?.['judgment']
        ? { application, execution: run.id, stage: String(run['judgment']) }
        : { application, environment: name },
    )
  return (
    <section aria-label={`To ${name}`}>
      <p class="flow-arrow">
        <span>{count}</span>
      </p>
      <Commits application={application} commits={commits.slice(0, mostBetween)} />
      {commits.length > mostBetween && <p class="muted">{commits.length - mostBetween} more</p>}
      {manifests.length > 0 && <p class="muted">{plural(manifests.length, 'manifest')} differ</p>}
      {!isSame && <Conditions application={application} conditions={conditions} />}
      {run && !run['judgment'] && (
        <p>
          <NameLink
            href={to.execution(run.id)}
            text={(conditions.length === 0 && run.waitsFor) || run.pipeline}
            max={60}
          />
        </p>
      )}
      {!isSame && !run && conditions.length === 0 && holds[0] && (
        <Name class="muted" text={holds[0]} />
      )}
      {!isSame && (!run || run['judgment']) && (
        <Button kind="primary" small onClick={review}>
          {run?.['judgment'] ? 'Review' : `Promote${isBack(environment) ? ' again' : ''} …`}
        </Button>
      )}
      {versions.length === 0 && isSame && <span class="muted">nothing to promote</span>}
    </section>
  )
}

const eventKinds = { good: 'succeeded', failed: 'failed', active: 'running' } as const

/** A line for each environment, all on one axis. */
function Timeline({
  environments,
  releases,
}: {
  environments: readonly Environment[]
  releases: readonly Release[]
}) {
  const events = releases.flatMap(({ version, events: own }) =>
    own
      // A rollback is an event of two versions.
      .filter(
        ({ kind, state, environment, atMs }) =>
          environment && atMs && !(kind === 'rollback' && state === 'good'),
      )
      .map((event) => ({ ...event, version, atMs: event.atMs ?? 0 })),
  )
  if (events.length === 0) return null
  const from = Math.min(...events.map(({ atMs }) => atMs))
  const until = Math.max(now.peek(), from + 1)
  const line = (name: string, children: ComponentChildren) => (
    <li key={name} class="timeline-row">
      <Name class="muted cut" text={name} max={24} />
      <span class="timeline-track">{children}</span>
    </li>
  )
  return (
    <section class="panel timeline" aria-label="Timeline">
      <ul class="plain-list">
        {environments.map(({ name }) =>
          line(
            name,
            events
              .filter(({ environment }) => environment === name)
              .map(({ version, text, user, atMs, state, kind, run, task, comment }) => {
                const said = [
                  `${version} ${text}`,
                  user && `by ${user}`,
                  comment,
                  formatExact(atMs),
                ]
                  .filter(Boolean)
                  .join(', ')
                const href = to.evidence('', { run, task })
                return (
                  <a
                    key={`${atMs} ${version} ${kind}`}
                    class="timeline-event"
                    style={{ left: `${(98 * (atMs - from)) / (until - from)}%` }}
                    href={href}
                    title={said}
                    aria-label={said}
                  >
                    <StatusMark
                      kind={kind === 'rollback' ? 'warning' : eventKinds[state]}
                      size={12}
                    />
                  </a>
                )
              }),
          ),
        )}
      </ul>
      <p class="muted timeline-ends">
        <Time at={from} /> <span>now</span>
      </p>
    </section>
  )
}
