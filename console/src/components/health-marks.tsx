/** The instances of a server group: a mark each up to 60, above that a bar with counts. */
import {
  countsOf,
  type Instance,
  instanceId,
  instancesOf,
  isEnabled,
  type ServerGroup,
  statusOfInstance,
} from '../model/server-groups.ts'

import { StatusMark } from './status-mark.tsx'

const maxMarks = 60

interface HealthMarksProps {
  readonly group: ServerGroup
  readonly hrefOf?: (instance: Instance) => string
  /** Beside the marks, instead of "2 of 3 up". */
  readonly text?: string
}

export function HealthMarks({ group, hrefOf, text }: HealthMarksProps) {
  const instances = instancesOf(group)
  const { total, up } = countsOf(group)
  const isShort =
    isEnabled(group) &&
    up < total &&
    (text === undefined || instances.some((instance) => statusOfInstance(instance).kind === 'failed'))
  const share = total === 0 ? 0 : (up / total) * 100
  return (
    <span class="health">
      <span class="marks" aria-hidden="true">
        {instances.length <= maxMarks ? (
          instances.map((instance) => {
            const { kind, word } = statusOfInstance(instance)
            const mark = <StatusMark kind={kind} size={12} />
            const title = `${instanceId(instance)}: ${word}`
            return hrefOf === undefined ? (
              <span key={instanceId(instance)} title={title}>
                {mark}
              </span>
            ) : (
              <a key={instanceId(instance)} href={hrefOf(instance)} title={title} tabIndex={-1}>
                {mark}
              </a>
            )
          })
        ) : (
          <span class="health-bar">
            <span style={{ width: `${share}%` }} />
          </span>
        )}
      </span>
      <span class={`number ${isShort ? 'is-short' : ''}`}>{text ?? `${up} of ${total} up`}</span>
    </span>
  )
}
