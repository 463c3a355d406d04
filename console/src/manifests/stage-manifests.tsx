/** What a stage deploys or changes: its plan, and each object with its state now. */
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { Name, NameLink } from '../components/name.tsx'
import { StatusBadge } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import type { Stage } from '../model/execution.ts'
import { accountOf, instanceId, instancesOf } from '../model/server-groups.ts'
import { isComplete } from '../model/status.ts'
import { ProgramTail } from '../screens/stage-output.tsx'
import { plural } from '../words.ts'
import { bareName } from './names.ts'
import { DriftList, toDrift } from './notices.tsx'
import { eventsOf, type ObjectPlace, pillsOf, reasonsOf } from './object.ts'
import { Plan } from './plan.tsx'
import { LogsLink } from './pods.tsx'
import { jobPodsOfStage, objectsOfStage, planOfStage } from './stage.ts'
import { useManifest } from './use-object.ts'
import { isPartOf } from './workload.ts'

const maxObjects = 30
const maxEvents = 8

interface StageManifestsProps {
  readonly application: string
  readonly stage: Stage
}

export function StageManifests({ application, stage }: StageManifestsProps) {
  const [objects, pods, plan] = [objectsOfStage(stage), jobPodsOfStage(stage), planOfStage(stage)]
  const drift = toDrift(stage.outputs['drift'] ?? stage.context['drift'])
  return (
    <>
      {plan.length > 0 && (
        <Section title="Plan">
          <Plan objects={plan} />
        </Section>
      )}
      {drift.length > 0 && (
        <Section title={`${plural(drift.length, 'deployed object')} changed since the deployment.`}>
          <DriftList application={application} found={drift} />
        </Section>
      )}
      {objects.length > 0 && (
        <Section title="Objects">
          <ul class="rows boxed-rows">
            {objects.slice(0, maxObjects).map((object) => (
              <li key={[object.location, object.name].join('\n')}>
                <ObjectRow application={application} object={object} isLive={!isComplete(stage.status)} />
              </li>
            ))}
          </ul>
          {objects.length > maxObjects && <p class="quiet">and {objects.length - maxObjects} more</p>}
        </Section>
      )}
      {pods.length > 0 && (
        <Section title="Pods of the job">
          <ul class="rows boxed-rows">
            {pods.map((pod) => (
              <li key={pod.name} class="run-row">
                <NameLink class="row-link grow" href={to.manifest(application, pod)} text={pod.name} max={60} />
                <LogsLink href={to.manifest(application, pod, { tab: 'logs' })} name={bareName(pod.name)} />
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  )
}

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <>
      <h3 class="sub">{title}</h3>
      {children}
    </>
  )
}

interface ObjectRowProps {
  readonly application: string
  readonly object: ObjectPlace
  readonly isLive: boolean
}

/** An object that was deleted since has only its name. */
function ObjectRow({ application, object, isLive }: ObjectRowProps) {
  const { body } = useManifest(object).reading.value
  const events = body === undefined ? [] : eventsOf(body)
  return (
    <div class="stage-object">
      <div class="row">
        <NameLink href={to.manifest(application, object)} text={object.name} max={60} />
        <span class="muted">
          <Name text={object.location} max={40} />
        </span>
        {body !== undefined && pillsOf(body).map((pill) => <StatusBadge key={pill.word} status={pill} />)}
      </div>
      {body !== undefined &&
        reasonsOf(body).map((reason) => (
          <p key={reason}>
            <Name text={reason} max={400} />
          </p>
        ))}
      {events.length > 0 && (
        <details open={isLive && events.some(({ isWarning }) => isWarning)}>
          <summary>{`Events of ${object.name}`}</summary>
          <ul class="bullets">
            {events.slice(0, maxEvents).map(({ atMs, reason, message }, at) => (
              <li key={at}>
                <span class="muted">
                  <Time at={atMs} />
                </span>{' '}
                <strong>{reason}</strong> <Name text={message} max={300} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}

/** What a failed stage has left in a cluster: its objects, and the last output of a pod that is not up. */
export function FailedObjects({ application, stage }: StageManifestsProps) {
  const objects = objectsOfStage(stage)
  const parameters = objects.length === 0 ? undefined : { path: { applicationName: application } }
  const groups = useLive('/applications/{applicationName}/serverGroups', parameters, { refresh: 'open' }).reading.value.body ?? []
  const [group] = groups
    .filter((one) => !one.isDisabled && objects.some((place) => isPartOf(one, place)))
    .toSorted((a, b) => (b.createdTime ?? 0) - (a.createdTime ?? 0))
  const pod = group && instancesOf(group).find(({ healthState }) => healthState !== 'Up')
  const id = pod && instanceId(pod)
  return (
    <>
      <StageManifests application={application} stage={stage} />
      {group !== undefined && id !== undefined && (
        <Section title={`Last output of ${id}`}>
          <ProgramTail
            program={{ account: accountOf(group), region: group.region, id, provider: group.cloudProvider ?? undefined }}
            name={id}
          />
        </Section>
      )}
    </>
  )
}
