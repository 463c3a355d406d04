/** What environments run of applications: the reads, and a cell for one of each. */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { useDrift } from '../manifests/drift.tsx'
import { isFullName } from '../manifests/names.ts'
import {
  accountsOf,
  type Deployed,
  differenceOf,
  type Environments,
  inOrder,
  type Pipeline,
  toDeployed,
  toEnvironments,
} from '../model/deployments.ts'
import { pipelinesThatDeploy } from '../model/infrastructure.ts'
import { accountOf, isEnabled, type ServerGroup } from '../model/server-groups.ts'
import { useAccounts } from '../screens/infrastructure-head.tsx'
import { plural } from '../words.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { Menu } from './menu.tsx'
import { Name } from './name.tsx'
import { StatusMark } from './status-mark.tsx'
import { Time } from './time.tsx'

/** Applications whose server groups come in one call. */
const perCall = 20

export interface Landscape {
  readonly environments: Environments
  /** Names of environments in the order of promotion. */
  readonly names: readonly string[]
  readonly pipelines: readonly Pipeline[]
}

export function useLandscape(withPipelines = true): Landscape {
  const accounts = useAccounts().reading.value.body
  const pipelines = useLive('/pipelineConfigs', withPipelines ? {} : undefined, { refresh: 'open' }).reading.value.body
  return useMemo(() => {
    const environments = toEnvironments(accounts ?? [])
    const names = inOrder([...new Set(environments.values())], pipelines ?? [], environments)
    return { environments, names, pipelines: pipelines ?? [] }
  }, [accounts, pipelines])
}

/** Each application with its neighbours in the list, which are read in the same call. */
export function toBatches(names: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const firstOf = (at: number) => at - (at % perCall)
  return new Map(names.map((name, at) => [name, names.slice(firstOf(at), firstOf(at) + perCall)]))
}

export function useServerGroups(applications: readonly string[] | undefined) {
  const query = applications !== undefined && applications.length > 0 ? { applications: [...applications] } : undefined
  return useLive('/serverGroups', query && { query }, { refresh: 'steady' })
}

/** What environments run of an application, by their names; undefined while it is not known. */
export function useDeployed(
  application: string,
  batch: readonly string[],
  { environments }: Landscape,
  isShown: (group: ServerGroup) => boolean = () => true,
) {
  const live = useServerGroups(batch)
  const { body, error } = live.reading.value
  const found = useMemo(() => {
    const own = body?.filter((group) => isOf(group, application) && isShown(group))
    return own && (toDeployed(own, environments).get(application.toLowerCase()) ?? new Map<string, Deployed>())
  }, [body, environments, application])
  return { found, error, retry: () => live.refresh() }
}

function isOf({ application, moniker }: ServerGroup, name: string): boolean {
  return (application ?? moniker?.app ?? '').toLowerCase() === name.toLowerCase()
}

/** Instead of what cannot be read, which is not nothing. */
export function Unread({ error, retry }: { error: { message: string } | undefined; retry: () => void }) {
  if (error === undefined) return <span class="bar" aria-hidden="true" />
  return (
    <span class="row" title={error.message}>
      <StatusMark kind="unknown" /> unknown
      <Button small onClick={retry}>
        Try again
      </Button>
    </span>
  )
}

export function HealthText({ up, total, isServing = true }: { up: number; total: number; isServing?: boolean }) {
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
  readonly landscape: Landscape
}

export function DeployedCell({ application, deployed, earlier, landscape }: CellProps) {
  const { versions, commit, sinceMs, up, total, groups } = deployed
  const difference = earlier && differenceOf(deployed, earlier)
  const isServing = groups.some(isEnabled)
  return (
    <div class={`deployed ${difference === undefined ? '' : 'is-different'}`}>
      <span class="row">
        <a class="version" href={hrefOf(application, deployed)}>
          <Name text={versions.slice(0, 2).join(', ') || 'unknown version'} max={36} />
        </a>
        {versions.length > 2 && <span class="muted">and {versions.length - 2} more</span>}
        {commit !== undefined && <code class="muted">{commit}</code>}
      </span>
      <span class="muted row">
        <HealthText up={up} total={total} isServing={isServing} />
        <Time at={sinceMs} inDays />
      </span>
      {groups.some(({ name }) => isFullName(name)) && <DriftMark application={application} groups={groups} />}
      {difference !== undefined && earlier !== undefined && (
        <span class="row">
          <span class="is-behind">{difference}</span>
          <Promotion {...{ application, earlier, landscape }} to={deployed.environment} />
        </span>
      )}
    </div>
  )
}

/** One server group, else the application in its accounts. */
function hrefOf(application: string, { groups }: Deployed): string {
  const [group] = groups
  if (group === undefined) return to.application(application)
  const place = { account: accountOf(group), region: group.region, name: group.name }
  return groups.length === 1
    ? to.serverGroup(application, place)
    : `${to.application(application)}?account=${encodeURIComponent(place.account)}`
}

function DriftMark({ application, groups }: { application: string; groups: readonly ServerGroup[] }) {
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
  readonly to: string
  readonly landscape: Landscape
  readonly children?: ComponentChildren
}

/** Starts of the pipelines that bring a version of the environment before to this one. */
export function Promotion({ application, earlier, to: target, landscape }: PromotionProps) {
  const { environments, pipelines } = landscape
  const [image = '', version = ''] = [earlier.images[0], earlier.versions[0]]
  const own = pipelines.filter((pipeline) => pipeline.application.toLowerCase() === application.toLowerCase())
  const isThere = (account: string) => (environments.get(account) ?? account) === target
  const reach = (id: string) => new Set(accountsOf(own.find((one) => one.id === id) as Schemas['Pipeline'])).size
  const ways = pipelinesThatDeploy(image, own, isThere).toSorted((a, b) => reach(a.id) - reach(b.id))
  const others = own.filter(({ id }) => !ways.some((way) => way.id === id)).filter((one) => accountsOf(one).some(isThere))
  const items = [
    ...ways.map(({ id, name, parameters }) => {
      const filled = Object.fromEntries(Object.entries(parameters).map(([key, value]) => [`p.${key}`, value]))
      const label = reach(id) > 1 ? `${name}: to ${plural(reach(id), 'account')}` : name
      return { label, icon: 'play' as const, href: to.startPipeline(application, id, filled) }
    }),
    ...others.flatMap(({ id, name }) =>
      id === undefined
        ? []
        : [{ label: `${name}: finds its image itself`, icon: 'play' as const, href: to.startPipeline(application, id) }],
    ),
  ]
  const [only] = items
  const label = `Promote ${version} to ${target}`
  if (only === undefined) {
    return (
      <a class="muted" href={to.newPipeline(application)} title={`No pipeline deploys to ${target}`}>
        no pipeline deploys there: create one
      </a>
    )
  }
  if (items.length === 1) {
    return (
      <a class="button small" href={only.href} aria-label={`${label} of ${application}`}>
        Promote {version}
      </a>
    )
  }
  return (
    <Menu label={`${label} of ${application}`} class="button small" items={items}>
      Promote {version} <Icon name="down" />
    </Menu>
  )
}
