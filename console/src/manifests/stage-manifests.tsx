/** What a stage deploys or changes: its plan, and each object with its state now. */
import { to } from '../address.ts'
import { Icon } from '../components/icon.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { StatusBadge } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import type { Stage } from '../model/execution.ts'
import { isComplete } from '../model/status.ts'
import { DriftList, toDrift } from './drift.tsx'
import { eventsOf, pillsOf, reasonsOf } from './object.ts'
import { Plan } from './plan-view.tsx'
import { jobPodsOfStage, type ObjectOfStage, objectsOfStage, planOfStage } from './stage.ts'
import { useManifest } from './use-object.ts'
import { manifestWords } from './words.ts'

const maxObjects = 30
const maxEvents = 8

interface StageManifestsProps {
  readonly application: string
  readonly stage: Stage
}

export function StageManifests({ application, stage }: StageManifestsProps) {
  const objects = objectsOfStage(stage)
  const pods = jobPodsOfStage(stage)
  const plan = planOfStage(stage)
  const drift = toDrift(stage.outputs['drift'] ?? stage.context['drift'])
  return (
    <>
      {plan.length > 0 && (
        <>
          <h3 class="sub">Plan</h3>
          <Plan objects={plan} />
        </>
      )}
      {drift.length > 0 && (
        <>
          <h3 class="sub">{manifestWords.driftTitle(drift.length)}</h3>
          <DriftList application={application} found={drift} />
        </>
      )}
      {objects.length > 0 && (
        <>
          <h3 class="sub">Objects</h3>
          <ul class="rows boxed-rows">
            {objects.slice(0, maxObjects).map((object) => (
              <li key={[object.location, object.name].join('\n')}>
                <ObjectRow application={application} object={object} isLive={!isComplete(stage.status)} />
              </li>
            ))}
          </ul>
          {objects.length > maxObjects && <p class="quiet">{manifestWords.driftMore(objects.length - maxObjects)}</p>}
        </>
      )}
      {pods.length > 0 && (
        <>
          <h3 class="sub">Pods of the job</h3>
          <ul class="rows boxed-rows">
            {pods.map((pod) => (
              <li key={pod.name} class="run-row">
                <NameLink class="row-link grow" href={to.manifest(application, pod)} text={pod.name} max={60} />
                <a class="button small" href={to.manifest(application, pod, { tab: 'logs' })}>
                  <Icon name="terminal" /> {manifestWords.tabs.logs}
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

interface ObjectRowProps {
  readonly application: string
  readonly object: ObjectOfStage
  readonly isLive: boolean
}

/** An object that was deleted since has only its name. */
function ObjectRow({ application, object, isLive }: ObjectRowProps) {
  const { body } = useManifest(object).reading.value
  const events = body === undefined ? [] : eventsOf(body)
  const reasons = body === undefined ? [] : reasonsOf(body)
  const warnings = events.some(({ isWarning }) => isWarning)
  return (
    <div class="stage-object">
      <div class="row">
        <NameLink href={to.manifest(application, object)} text={object.name} max={60} />
        <span class="muted">
          <Name text={object.location} max={40} />
        </span>
        {body !== undefined && pillsOf(body).map((pill) => <StatusBadge key={pill.word} status={pill} />)}
      </div>
      {reasons.map((reason) => (
        <p key={reason}>
          <Name text={reason} max={400} />
        </p>
      ))}
      {events.length > 0 && (
        <details open={isLive && warnings}>
          <summary>{`Events of ${object.name}`}</summary>
          <ul class="bullets">
            {events.slice(0, maxEvents).map((event, at) => (
              <li key={at}>
                <span class="muted">
                  <Time at={event.atMs} />
                </span>{' '}
                <strong>{event.reason}</strong> <Name text={event.message} max={300} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}
