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
  const hasFailed = instances.some((instance) => statusOfInstance(instance).kind === 'failed')
  const isShort = isEnabled(group) && up < total && (text === undefined || hasFailed)
  return (
    <span class="health">
      <span class="marks" aria-hidden="true">
        {instances.length > maxMarks && (
          <span class="health-bar">
            <span style={{ width: `${(up / Math.max(1, total)) * 100}%` }} />
          </span>
        )}
        {instances.length <= maxMarks &&
          instances.map((instance) => {
            const { kind, word } = statusOfInstance(instance)
            const id = instanceId(instance)
            const mark = { title: `${id}: ${word}`, children: <StatusMark kind={kind} size={12} /> }
            return hrefOf === undefined ? (
              <span key={id} {...mark} />
            ) : (
              <a key={id} {...mark} href={hrefOf(instance)} tabIndex={-1} />
            )
          })}
      </span>
      <span class={`number ${isShort ? 'is-short' : ''}`}>{text ?? `${up} of ${total} up`}</span>
    </span>
  )
}
