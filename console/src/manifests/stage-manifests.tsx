/** What a stage deploys or changes: its plan, and each object with its state now. */
import { to } from '../address.ts'
import { useServerGroups } from '../api/pipelines.ts'
import { Name, NameLink, StatusBadge } from '../components/text.tsx'
import { isComplete, type Stage } from '../model/execution.ts'
import { groupPlace, instanceId, instancesOf } from '../model/server-groups.ts'
import { ProgramTail } from '../screens/stage-output.tsx'
import { DriftList, driftTitle, toDrift } from './notices.tsx'
import { eventsOf, isKind, type ObjectPlace, pillsOf, reasonsOf } from './object.ts'
import { Plan } from './plan.tsx'
import { objectsOfStage, planOfStage } from './stage.ts'
import { Events, LogsLink } from './status-tab.tsx'
import { useManifest } from './use-object.ts'
import { isPartOf } from './workload.ts'

/** Each is read. */
const maxObjects = 30

interface StageManifestsProps {
  readonly application: string
  readonly stage: Stage
}

export function StageManifests({ application, stage }: StageManifestsProps) {
  const plan = planOfStage(stage)
  const drift = toDrift(stage.outputs['drift'] ?? stage.context['drift'])
  const objects = objectsOfStage(stage)
  const shown = objects.slice(0, maxObjects)
  const count = shown.length === objects.length ? '' : `, ${maxObjects} of ${objects.length}`
  return (
    <>
      {plan.length > 0 && <h3 class="sub">Plan</h3>}
      {plan.length > 0 && <Plan objects={plan} />}
      {drift.length > 0 && <h3 class="sub">{driftTitle(drift)}</h3>}
      {drift.length > 0 && <DriftList application={application} found={drift} />}
      {shown.length > 0 && <h3 class="sub">{`Objects${count}`}</h3>}
      {shown.length > 0 && (
        <ul class="rows boxed-rows">
          {shown.map((object) => (
            <li key={[object.location, object.name].join('\n')} class="stage-object">
              <ObjectRow
                application={application}
                object={object}
                isLive={!isComplete(stage.status)}
              />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** An object that was deleted since has only its name. */
function ObjectRow({
  application,
  object,
  isLive,
}: {
  application: string
  object: ObjectPlace
  isLive: boolean
}) {
  const { body } = useManifest(object)
  const [pills, reasons, events] =
    body === undefined ? [[], [], []] : [pillsOf(body), reasonsOf(body), eventsOf(body)]
  return (
    <>
      <div class="row">
        <NameLink href={to.manifest(application, object)} text={object.name} max={60} />
        <Name class="muted" text={object.location} max={40} />
        {pills.map((pill) => (
          <StatusBadge key={pill.word} status={pill} />
        ))}
        {isKind(object.name, 'pod') && <LogsLink application={application} place={object} />}
      </div>
      {reasons.map((reason) => (
        <p key={reason}>
          <Name text={reason} max={400} />
        </p>
      ))}
      {events.length > 0 && (
        <details open={isLive && events.some(({ status }) => status.kind === 'warning')}>
          <summary>{`Events of ${object.name}`}</summary>
          <Events rows={events} />
        </details>
      )}
    </>
  )
}

/** What a failed stage has left in a cluster: its objects, and the last output of a pod that is not up. */
export function FailedObjects({ application, stage }: StageManifestsProps) {
  const objects = objectsOfStage(stage)
  const { body: groups = [] } = useServerGroups(
    objects.length === 0 ? undefined : application,
    undefined,
    { refresh: 'open' },
  )
  const [group] = groups
    .filter((one) => !one.isDisabled && objects.some((place) => isPartOf(one, place)))
    .toSorted((a, b) => (b.createdTime ?? 0) - (a.createdTime ?? 0))
  const pod = group && instancesOf(group).find(({ healthState }) => healthState !== 'Up')
  const id = pod && instanceId(pod)
  return (
    <>
      <StageManifests application={application} stage={stage} />
      {group !== undefined && id !== undefined && (
        <>
          <h3 class="sub">{`Last output of ${id}`}</h3>
          <ProgramTail
            program={{ ...groupPlace(group), id, provider: group.cloudProvider ?? undefined }}
            name={id}
          />
        </>
      )}
    </>
  )
}
