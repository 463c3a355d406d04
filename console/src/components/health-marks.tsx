/** The instances of a server group: a mark each up to 60, above that a bar with counts. */
import type { Status } from '../model/execution.ts'
import {
  countsOf,
  type Instance,
  instanceId,
  instancesOf,
  isEnabled,
  type ServerGroup,
  statusOfInstance,
} from '../model/server-groups.ts'
import { StatusMark } from './text.tsx'

const maxMarks = 60

export function HealthMarks({
  group,
  hrefOf,
}: {
  group: ServerGroup
  hrefOf?: (instance: Instance) => string
}) {
  const { total, up } = countsOf(group)
  const states = instancesOf(group).map((instance) => {
    return { ...statusOfInstance(instance), id: instanceId(instance), href: hrefOf?.(instance) }
  })
  return (
    <Marks
      states={states}
      up={up / Math.max(1, total)}
      text={`${up} of ${total} up`}
      isShort={isEnabled(group) && up < total}
    />
  )
}

interface MarksProps {
  readonly states: readonly (Status & {
    readonly id?: string
    readonly href?: string
  })[]
  /** From 0 to 1. */
  readonly up: number
  readonly text: string
  readonly isShort: boolean
}

export function Marks({ states, up, text, isShort }: MarksProps) {
  return (
    <span class="health">
      <span class="marks" aria-hidden="true">
        {states.length > maxMarks && (
          <span class="health-bar">
            <span style={{ width: `${up * 100}%` }} />
          </span>
        )}
        {states.length <= maxMarks &&
          states.map(({ kind, word, id, href }, at) => {
            const mark = {
              title: id === undefined ? word : `${id}: ${word}`,
              children: <StatusMark kind={kind} size={12} />,
            }
            return href === undefined ? (
              <span key={id ?? at} {...mark} />
            ) : (
              <a key={id} {...mark} href={href} tabIndex={-1} />
            )
          })}
      </span>
      <span class={`number ${isShort ? 'is-short' : ''}`}>{text}</span>
    </span>
  )
}
