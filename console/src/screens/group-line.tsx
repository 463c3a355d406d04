/** A server group in one line: what runs in it, how healthy it is, and whether it takes traffic. */
import type { ComponentChildren } from 'preact'
import { PendingChip } from '../components/actions.tsx'
import { HealthMarks } from '../components/health-marks.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { StatusMark, Time } from '../components/text.tsx'
import {
  countsOf,
  type Instance,
  isEnabled,
  loadBalancersOf,
  type ServerGroup,
  versionOf,
} from '../model/server-groups.ts'
import { percent, shareOf } from '../model/traffic.ts'

interface GroupLineProps {
  readonly group: ServerGroup
  /** What it is called among its neighbours; a text is short. */
  readonly title: ComponentChildren
  /** Its whole name, with the title in it. */
  readonly label: string
  readonly href: string
  readonly hrefOf: (instance: Instance) => string
  /** Key of the tasks that change it. */
  readonly pendingKey: string
  readonly actions: readonly MenuItem[]
  /** Server groups that could take its traffic, and itself. */
  readonly serving: readonly ServerGroup[]
  /** Why it is not as wanted. */
  readonly note?: ComponentChildren
}

export function GroupLine(props: GroupLineProps) {
  const { group, title, label, href, hrefOf, pendingKey, actions, serving, note } = props
  const version = versionOf(group)
  return (
    <div class={`run-row group-row ${isEnabled(group) ? '' : 'is-off'}`}>
      <a
        class={`row-link row-title ${typeof title === 'string' ? 'short-name' : 'cut'}`}
        href={href}
        aria-label={label}
      >
        {title}
      </a>
      <span class="version cut" title={version}>
        {version === undefined ? (
          <span class="muted">–</span>
        ) : (
          <code>{version.slice(version.lastIndexOf('/') + 1)}</code>
        )}
      </span>
      <span class="muted hide-narrow aside">{group.region}</span>
      <HealthMarks group={group} hrefOf={hrefOf} />
      <span class="grow">
        <PendingChip object={pendingKey} />
        {note}
      </span>
      <Traffic group={group} serving={serving} />
      <span class="muted hide-phone aside">
        <Time at={group.createdTime} />
      </span>
      <Menu label={`Actions of ${group.name}`} items={actions} />
    </div>
  )
}

/** Whether requests reach the group: the ribbon of the one that serves, a word for the others. */
function Traffic({ group, serving }: { group: ServerGroup; serving: readonly ServerGroup[] }) {
  const isFronted = (one: ServerGroup) => isEnabled(one) && loadBalancersOf(one).length > 0
  const isServing = (one: ServerGroup) => isFronted(one) && countsOf(one).up > 0
  if (isServing(group)) {
    const isKnown =
      serving.filter(isServing).length === 1 ||
      serving.some((one) => one['trafficPercent'] !== undefined)
    const share = `${percent(shareOf(group, serving))} of traffic`
    return <span class="traffic is-serving">{isKnown ? share : 'shares the traffic'}</span>
  }
  if (isEnabled(group) && !isFronted(group))
    return <span class="traffic muted">no load balancer</span>
  return (
    <span class="traffic is-disabled">
      <StatusMark kind={isEnabled(group) ? 'warning' : 'disabled'} size={12} />{' '}
      {isEnabled(group) ? 'no instance is up' : 'disabled'}
    </span>
  )
}
