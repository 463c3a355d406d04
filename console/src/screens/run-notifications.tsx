/** Notifications of a run: delivered, waiting, or failed with the reason. */
import type { Schemas } from '../api/client.ts'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import type { Execution } from '../model/execution.ts'
import type { Kind } from '../model/status.ts'
import { plural } from '../words.ts'

type Delivery = Schemas['NotificationDelivery']

const kinds: Readonly<Record<Delivery['status'], Kind>> = { delivered: 'succeeded', waiting: 'waiting', failed: 'failed' }

/** Whether one of them may still be delivered. */
export function awaitsDelivery({ notificationDeliveries }: Pick<Execution, 'notificationDeliveries'>): boolean {
  return notificationDeliveries?.some(({ status }) => status === 'waiting') ?? false
}

export function RunNotifications({ execution: { notificationDeliveries, stages } }: { execution: Execution }) {
  const deliveries = notificationDeliveries ?? []
  if (deliveries.length === 0) return null
  const stageNames = new Map(stages.map(({ id, name, type }) => [id, name ?? type]))
  return (
    <Panel title="Notifications" count={deliveries.length} flush>
      <ol class="rows">
        {deliveries.map((delivery) => (
          <DeliveryRow key={delivery.id} delivery={delivery} stage={stageNames.get(delivery.stageId ?? '')} />
        ))}
      </ol>
    </Panel>
  )
}

function DeliveryRow({ delivery, stage }: { delivery: Delivery; stage: string | undefined }) {
  const { type, address, when, status, reason, attempts, changedTime, nextAttemptTime } = delivery
  return (
    <li class="run-row">
      <StatusMark kind={kinds[status]} label={status} />
      <span>
        {type} <Name text={address} max={60} />
      </span>
      <span class="muted">
        {when}
        {stage !== undefined && (
          <>
            {' '}
            <Name text={stage} max={40} />
          </>
        )}
      </span>
      <span class="grow muted">
        {status}
        {attempts > 1 && `, ${plural(attempts, 'attempt')}`}
        {reason ? (
          <>
            : <Name text={reason} max={300} />
          </>
        ) : null}
        {status === 'waiting' && reason ? (
          <>
            {' '}
            Next attempt <Time at={nextAttemptTime} />
          </>
        ) : null}
      </span>
      <span class="muted hide-phone">
        <Time at={changedTime} />
      </span>
    </li>
  )
}
