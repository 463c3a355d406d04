/** What environments run of applications: the reads, and a cell for one of each. */

import { inOrder } from '@fairlead/model/environments/order.ts'
import { useEffect, useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import { useAccounts } from '../api/cloud-providers.ts'
import { type Live, useLive } from '../api/live.ts'
import { useDrift } from '../manifests/notices.tsx'
import { isFullName } from '../manifests/object.ts'
import {
  applicationOf,
  type Deployed,
  differenceOf,
  environmentOf,
  toDeclared,
  toDeployed,
  wayOf,
  withDeclaredNames,
} from '../model/deployments.ts'
import { foresee, foreseen } from '../model/recent.ts'
import { toEnvironments } from '../model/run-deployments.ts'
import { accountOf, groupPlace, isEnabled, type ServerGroup } from '../model/server-groups.ts'
import { describeError, plural } from '../words.ts'
import { Banner, Button } from './button.tsx'
import { Icon, NameLink, StatusMark, Time } from './text.tsx'

/** Applications whose server groups come in one call. */
const perCall = 20

export type Landscape = ReturnType<typeof useLandscape>

/**
 * Environments, and their names in the order of promotion, as pipelines deploy to them. What the screen read first when it was open last is
 * asked for at once, beside the list that leads to it.
 */
export function useLandscape(screen: string) {
  useServerGroups(useMemo(() => foreseen(screen), [screen]))
  const accounts = useAccounts().body
  const pipelines = useLive('/pipelineConfigs', {}, 'open').body
  const applications = useLive('/applications', {}, 'slow').body
  return useMemo(() => {
    const { declared, claimed } = toDeclared(applications ?? [], pipelines ?? [])
    const usual = toEnvironments(accounts ?? [])
    const environments = withDeclaredNames(usual, declared)
    const ways = [...declared.values()].map((list) => list.map(({ name }) => name))
    const own = [...environments].flatMap(([account, name]) => (claimed.has(account) ? [] : [name]))
    const deploying = (pipelines ?? []).map((pipeline) => wayOf(pipeline, environments))
    const names = inOrder([...new Set([...ways.flat(), ...own])], [...ways, ...deploying])
    const nameOf = (group: ServerGroup) => environmentOf(group, declared, environments)
    /** Whether the application declares the environment, or a pipeline of it deploys there. */
    const reaches = (application: string, environment: string) => {
      const key = application.toLowerCase()
      const isOwn = (pipeline: { application: string }) =>
        pipeline.application.toLowerCase() === key
      return (
        declared.get(key)?.some(({ name }) => name === environment) ??
        (pipelines ?? []).some(
          (pipeline) => isOwn(pipeline) && wayOf(pipeline, environments).includes(environment),
        )
      )
    }
    /** Its name in the application itself. */
    const ownName = (application: string, environment: string) => {
      const [account = ''] = [...environments].find(([, name]) => name === environment) ?? []
      return declared.has(application.toLowerCase())
        ? environment
        : (usual.get(account) ?? environment)
    }
    return { screen, nameOf, names, ownName, reaches, pipelines: pipelines ?? [] }
  }, [screen, accounts, pipelines, applications])
}

/** Applications with their neighbours in the list, which are read in the same call; what is read first is kept for the next time. */
export function useBatches({ screen }: Landscape, names: readonly string[]) {
  const batchOf = (name: string) => {
    const at = names.indexOf(name)
    return names.slice(at - (at % perCall), at - (at % perCall) + perCall)
  }
  const batch = names.slice(0, perCall)
  useEffect(() => {
    if (batch.length > 0) foresee(screen, batch)
  }, [screen, batch.join()])
  return { batchOf, first: useServerGroups(batch) }
}

function useServerGroups(applications: readonly string[] = []) {
  const query = applications.length > 0 ? { query: { applications: [...applications] } } : undefined
  return useLive('/serverGroups', query)
}

/** What environments run of an application, by their names; undefined while it is not known. */
export function useDeployed(
  application: string,
  batch: readonly string[],
  { nameOf }: Landscape,
  isShown?: (group: ServerGroup) => boolean,
) {
  const { body, error } = useServerGroups(batch)
  const found = useMemo(() => {
    const name = application.toLowerCase()
    const own = body?.filter((group) => applicationOf(group) === name && (isShown?.(group) ?? true))
    return own && (toDeployed(own, nameOf).get(name) ?? new Map<string, Deployed>())
  }, [body, nameOf, application, isShown])
  return { found, error }
}

/** Replaces what cannot be read, which is not nothing. */
export function Unread({ error }: { error: { message: string } | undefined }) {
  if (error === undefined) return <span class="bar" aria-hidden="true" />
  return (
    <span class="health-text muted" title={error.message}>
      <StatusMark kind="unknown" /> unknown
    </span>
  )
}

/** Above a table whose first rows cannot be read, once for all of them. */
export function UnreadNotice({ live }: { live: Live<unknown> }) {
  const { error, body } = live
  if (error === undefined || body !== undefined) return null
  return (
    <Banner tone="failed" actions={<Button onClick={() => live.refresh()}>Try again</Button>}>
      What is deployed is unknown: {describeError(error).title} {describeError(error).advice}
    </Banner>
  )
}

export function HealthText({
  up,
  total,
  isServing = true,
}: {
  up: number
  total: number
  isServing?: boolean
}) {
  const kind = !isServing || total === 0 ? 'disabled' : up === total ? 'succeeded' : 'failed'
  return (
    <span class="health-text number">
      <StatusMark kind={kind} />
      {total === 0 ? 'no instance' : isServing ? `${up} of ${total} up` : 'disabled'}
    </span>
  )
}

interface CellProps {
  readonly application: string
  readonly deployed: Deployed
  /** What the environment before it runs. */
  readonly earlier: Deployed | undefined
  /** The environment, as the application has it. */
  readonly target: string
}

export function DeployedCell({ application, deployed, earlier, target }: CellProps) {
  const { versions, commit, sinceMs, up, total, groups, rolledBackFrom } = deployed
  const difference = earlier && differenceOf(deployed, earlier)
  const rollback =
    rolledBackFrom.length === 0
      ? undefined
      : `rolled back from ${rolledBackFrom.slice(0, 2).join(', ')}`
  const isServing = groups.some(isEnabled)
  return (
    <div class={`deployed ${difference === undefined ? '' : 'is-different'}`}>
      <span class="row">
        <NameLink
          class="version"
          href={hrefOf(application, groups)}
          text={versions.slice(0, 2).join(', ') || 'unknown version'}
          max={36}
        />
        {versions.length > 2 && <span class="muted">and {versions.length - 2} more</span>}
        {commit !== undefined && !versions.some((version) => version.includes(commit)) && (
          <code class="muted">{commit}</code>
        )}
      </span>
      <span class="muted row">
        <HealthText up={up} total={total} isServing={isServing} />
        <Time at={sinceMs} inDays />
      </span>
      {groups.some(({ name }) => isFullName(name)) && (
        <DriftMark application={application} groups={groups} />
      )}
      {(difference ?? rollback) !== undefined && (
        <span class="row">
          <span class="is-behind">{[difference, rollback].filter(Boolean).join('; ')}</span>
          {difference !== undefined && earlier !== undefined && !difference.startsWith('ahead') && (
            <Promotion
              application={application}
              earlier={earlier}
              target={target}
              left={rolledBackFrom}
            />
          )}
        </span>
      )}
    </div>
  )
}

/** One server group, else the application in its accounts. */
function hrefOf(application: string, [group, ...others]: readonly ServerGroup[]) {
  if (group === undefined) return to.application(application)
  return others.length === 0
    ? to.serverGroup(application, groupPlace(group))
    : `${to.application(application)}?account=${encodeURIComponent(accountOf(group))}`
}

function DriftMark({
  application,
  groups,
}: {
  application: string
  groups: readonly ServerGroup[]
}) {
  const accounts = new Set(groups.map(accountOf))
  const count = useDrift(application).filter(({ account }) => accounts.has(account)).length
  if (count === 0) return null
  return (
    <a class="is-behind row" href={to.application(application)}>
      <Icon name="warn" /> {plural(count, 'object')} changed since
    </a>
  )
}

interface PromotionProps {
  readonly application: string
  readonly earlier: Deployed
  readonly target: string
  /** Versions from which it was rolled back. */
  readonly left?: readonly string[]
}

/** Opens the review of what the environment before runs. */
export function Promotion({
  application,
  earlier: {
    versions: [version = ''],
  },
  target,
  left = [],
}: PromotionProps) {
  const text = `Promote ${version}${left.includes(version) ? ' again' : ''}`
  const review = async () =>
    (await import('../screens/review.tsx')).openReview({ application, environment: target })
  return (
    <Button
      small
      aria-label={`${text} of ${application} to ${target}`}
      onClick={() => void review()}
    >
      {text}
    </Button>
  )
}
