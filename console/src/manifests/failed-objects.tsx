/** What a failed stage has left in a cluster: its objects, and the last output of a pod that is not up. */
import { useLive } from '../api/live.ts'
import type { Stage } from '../model/execution.ts'
import { objectsOf, textOf } from '../model/read.ts'
import { accountOf, instanceId, instancesOf, type ServerGroup } from '../model/server-groups.ts'
import { ProgramTail } from '../screens/stage-output.tsx'
import { objectsOfStage } from './stage.ts'
import { StageManifests } from './stage-manifests.tsx'

export function FailedObjects({ application, stage }: { application: string; stage: Stage }) {
  const names = new Set(objectsOfStage(stage).map(({ location, name }) => `${location} ${name}`))
  const parameters = names.size === 0 ? undefined : { path: { applicationName: application } }
  const groups = useLive('/applications/{applicationName}/serverGroups', parameters, { refresh: 'open' }).reading.value.body ?? []
  const [group] = groups
    .filter((one) => !one.isDisabled && namesOf(one).some((name) => names.has(name)))
    .toSorted((a, b) => (b.createdTime ?? 0) - (a.createdTime ?? 0))
  const pod = group && instancesOf(group).find(({ healthState }) => healthState !== 'Up')
  return (
    <>
      <StageManifests application={application} stage={stage} />
      {group !== undefined && pod !== undefined && (
        <>
          <h3 class="sub">Last output of {instanceId(pod)}</h3>
          <ProgramTail
            program={{
              account: accountOf(group),
              region: group.region ?? '',
              id: instanceId(pod),
              provider: group.cloudProvider ?? undefined,
            }}
            name={instanceId(pod)}
          />
        </>
      )}
    </>
  )
}

/** Its own name, and that of the object that manages it, with their namespace. */
function namesOf(group: ServerGroup): readonly string[] {
  const managers = objectsOf(group['serverGroupManagers']).map(({ name }) => textOf(name) ?? '')
  const all = [group.name, ...managers, ...managers.map((name) => `deployment ${name}`)]
  return all.map((name) => `${group.region ?? ''} ${name}`)
}
