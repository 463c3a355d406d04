/** A deployment as a picture: server groups side by side, their instances, and the traffic of each, with what happened when. */
import { to } from '../address.ts'
import { useHasManifests } from '../api/cloud-providers.ts'
import { type LiveOptions, useLive } from '../api/live.ts'
import { useServerGroups } from '../api/pipelines.ts'
import type { Deployment } from '../model/deployment.ts'
import { groupPlace, loadBalancersOf, type ServerGroup, versionIn } from '../model/server-groups.ts'
import { formatClock } from '../model/time.ts'
import {
  type PictureGroup,
  percent,
  picturesOf,
  picturesThen,
  sentenceOf,
  sharersIn,
} from '../model/traffic.ts'
import { GroupCharts } from './group-charts.tsx'
import { Marks } from './health-marks.tsx'
import { ErrorBoundary } from './screen.tsx'
import { Icon, Name, NameLink, StatusMark, Time } from './text.tsx'

interface DeploymentPictureProps {
  readonly application: string
  /** Deployments of a run: live, and afterwards as they ended. */
  readonly deployments?: readonly Deployment[]
  /** Server groups of one cluster in one region, as they are now. */
  readonly groups?: readonly ServerGroup[]
  /** All of the application: others may have a share of the same traffic. */
  readonly all?: readonly ServerGroup[]
}

export function DeploymentPicture({
  application,
  deployments = [],
  groups,
  all,
}: DeploymentPictureProps) {
  return (
    <ErrorBoundary>
      {groups && <Picture application={application} pictures={picturesOf(groups, { all })} />}
      {deployments.map((deployment) => (
        <RunPicture
          key={[deployment.account, deployment.region, deployment.cluster].join('/')}
          application={application}
          deployment={deployment}
        />
      ))}
    </ErrorBoundary>
  )
}

function RunPicture({ application, deployment }: { application: string; deployment: Deployment }) {
  const { account, region, cluster, fresh, old, startMs, isOver, hasFailed, events } = deployment
  const pace = { refresh: isOver ? 'slow' : 'live', isBusy: () => !isOver } as const
  const { body, error } = useServerGroups(application, `${account}:${cluster}`, pace)
  const groups = (body ?? []).filter((group) => group.region === region)
  const others = useSharers(groups, pace)
  if (others === undefined || (body === undefined && error === undefined && !isOver)) return null
  const endMs = events.at(-1)?.atMs
  // What a failed deployment has left is looked at as it is.
  if (isOver && fresh.length > 0 && !(hasFailed && groups.some(({ name }) => fresh.includes(name))))
    return (
      <Picture
        application={application}
        deployment={deployment}
        endMs={endMs}
        pictures={picturesThen(deployment, groups, others)}
      />
    )
  // Where a run names no server group, the cluster shows its end only until the next one comes.
  const createdFrom = (ms: number) =>
    groups.filter(({ createdTime }) => (createdTime ?? 0) >= ms).map(({ name }) => name)
  const isPast = isOver && fresh.length === 0 && createdFrom((endMs ?? 0) + 1).length > 0
  const pictures = isPast
    ? []
    : picturesOf(groups, {
        fresh: fresh.length > 0 ? fresh : createdFrom(startMs),
        old,
        all: [...groups, ...others],
      })
  return <Picture application={application} deployment={deployment} pictures={pictures} />
}

/** Server groups of other clusters behind the same load balancer; undefined while they are read. */
function useSharers(groups: readonly ServerGroup[], pace: LiveOptions<unknown>) {
  const group = groups.find((each) => loadBalancersOf(each).length > 0)
  const [name = ''] = group === undefined ? [] : loadBalancersOf(group)
  const asked = group && {
    path: { ...groupPlace(group), name },
    query: { provider: group.cloudProvider ?? group.type },
  }
  const { body, error } = useLive('/loadBalancers/{account}/{region}/{name}', asked as never, pace)

  if (asked !== undefined && body === undefined && error === undefined) return undefined
  return sharersIn(body?.[0]).filter((other) => groups.every((own) => own.name !== other.name))
}

interface PictureProps {
  readonly application: string
  readonly pictures: readonly PictureGroup[]
  readonly deployment?: Deployment
  /** End of the run, where it is shown as it was then. */
  readonly endMs?: number
}

function Picture({ application, pictures, deployment, endMs }: PictureProps) {
  const balancers = [...new Set(pictures.flatMap(({ group }) => loadBalancersOf(group)))]
  const events = [...(deployment?.events ?? []), ...(deployment?.upcoming ?? [])]
  const serving = pictures.filter(({ outcome }) => outcome === undefined).map(({ group }) => group)
  if (pictures.length === 0 && events.length === 0) return null
  return (
    <figure class={`deployment ${deployment === undefined ? '' : 'panel'}`}>
      <figcaption>
        {deployment !== undefined && <Name class="strong" text={deployment.cluster} max={50} />}
        <span class="muted">
          {endMs !== undefined && `At the end, ${formatClock(endMs)}: `}
          {pictures.length > 0 && sentenceOf(pictures)}
        </span>
      </figcaption>
      <div class="deployment-drawing" style={{ '--columns': pictures.length }}>
        {balancers.length > 0 && (
          <>
            <p class="deployment-front">
              <Icon name="balance" />
              <Name text={balancers.join(', ')} max={60} />
            </p>
            <Bands pictures={pictures} />
          </>
        )}
        <ul class="deployment-groups">
          {pictures.map((picture) => (
            <GroupBox key={picture.group.name} application={application} picture={picture} />
          ))}
        </ul>
      </div>
      {deployment === undefined && <GroupCharts groups={serving} />}
      {events.length > 0 && (
        <ol class="deployment-events" aria-label="What happened">
          {events.map(({ atMs, text, kind }) => (
            <li key={`${atMs} ${text}`} class={`is-${kind}`}>
              <StatusMark kind={kind} size={12} />
              {atMs > 0 && <time dateTime={new Date(atMs).toISOString()}>{formatClock(atMs)}</time>}
              <Name text={text} max={120} />
            </li>
          ))}
        </ol>
      )}
    </figure>
  )
}

/** In units of the drawing, which is 100 wide. */
const widestBand = 6
const bandHeight = 40

/** From the load balancer to each server group, as wide as its share. */
function Bands({ pictures }: { pictures: readonly PictureGroup[] }) {
  let left = 50 - widestBand / 2
  return (
    <svg
      class="deployment-bands"
      viewBox={`0 0 100 ${bandHeight}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {pictures.map(({ group, share = 0 }, at) => {
        const width = share * widestBand
        const d = bandPath(left, (100 * (at + 0.5)) / pictures.length - width / 2, width)
        left += width
        // As a style, the outline moves; the attribute is for browsers without that property.
        return (
          <path
            key={group.name}
            class={share > 0 ? 'is-serving' : ''}
            d={d}
            style={{ d: `path("${d}")` }}
          />
        )
      })}
    </svg>
  )
}

function bandPath(from: number, to: number, width: number) {
  const half = bandHeight / 2
  const side = (top: number, bottom: number) =>
    `C${top} ${half} ${bottom} ${half} ${bottom} ${bandHeight}`
  const back = `L${to + width} ${bandHeight}C${to + width} ${half} ${from + width} ${half} ${from + width} 0`
  return `M${from} 0${side(from, to)}${back}Z`
}

function GroupBox({ application, picture }: { application: string; picture: PictureGroup }) {
  const { group, states, health, isNew, share, outcome, isGone, version } = picture
  const isOfManifests = useHasManifests(group.cloudProvider ?? group.type)
  const place = groupPlace(group)
  const href = isOfManifests
    ? to.manifest(application, { ...place, location: place.region })
    : to.serverGroup(application, place)
  const up = states.filter(({ word }) => word === 'up').length / Math.max(1, states.length)
  const isShort = outcome === undefined && states.some(({ kind }) => kind === 'failed')
  return (
    <li
      class={`deployment-group ${isNew ? 'is-new' : ''} ${outcome === undefined ? '' : 'is-off'}`}
    >
      <p class="deployment-name">
        <NameLink href={isGone ? undefined : href} text={versionIn(group.name)} max={30} />
        {isNew && <span class="chip">new</span>}
        {version !== undefined && (
          <code class="cut">{version.slice(version.lastIndexOf('/') + 1)}</code>
        )}
      </p>
      {health !== undefined && (
        <p>
          <Marks states={states} up={up} text={health} isShort={isShort} />
        </p>
      )}
      <p class="deployment-share">
        {outcome}
        {outcome === undefined && share !== undefined && (
          <span>
            <b>{percent(share)}</b> of traffic
          </span>
        )}
        <span class="muted">
          <Time at={group.createdTime} />
        </span>
      </p>
    </li>
  )
}
