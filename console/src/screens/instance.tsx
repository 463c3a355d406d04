/** One instance: its checks, what happened to it, and its output. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { ProgramPage } from '../components/program-tabs.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { type Json, numberOf, objectOf, objectsOf, textOf } from '../model/read.ts'
import { instanceId, statusOfInstance, toEvents } from '../model/server-groups.ts'
import { instanceStatus } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'
import { EventTable } from './server-group-events.tsx'

export function InstanceScreen({ params }: ScreenProps) {
  const { application = '', account = '', region = '', id = '' } = params
  const live = useLive(
    '/instances/{account}/{region}/{instanceId}',
    { path: { account, region, instanceId: id } },
    { refresh: 'steady', events: applicationEvents(application, 'infrastructure') },
  )
  const gone = <EmptyState text={`There is no instance ${id}. It may have been replaced.`} />
  return (
    <Loaded live={live} title={id} rows={8} empty={gone}>
      {(instance) => {
        const group = instance.serverGroup
        const { restarts, pid } = objectOf(instance['process'])
        const events = toEvents(instance['events'])
        return (
          <ProgramPage
            {...{ application, name: instanceId(instance), record: instance, status: statusOfInstance(instance) }}
            crumb={
              group == null
                ? undefined
                : { label: <Name text={group} />, href: to.serverGroup(application, { account, region, name: group }) }
            }
            place={{ account, region, id, provider: instance.cloudProvider ?? undefined }}
            facts={[
              ['Account', instance.account],
              ['Region', instance.region],
              ['Zone', instance.zone],
              ['Address', [textOf(instance['privateIpAddress']), textOf(instance['port'])].filter(Boolean).join(':')],
              ['Since', <Time key="since" at={instance.launchTime} />],
              ['Restarts', numberOf(restarts)],
              ['Process', numberOf(pid)],
            ]}
          >
            <Panel title="Health checks" flush>
              <ul class="rows">
                {objectsOf(instance.health).map((check, index) => (
                  <Check key={index} check={check} />
                ))}
              </ul>
            </Panel>
            {events.length > 0 && (
              <Panel title="Events" flush>
                <EventTable label="Events" rows={events} />
              </Panel>
            )}
          </ProgramPage>
        )
      }}
    </Loaded>
  )
}

function Check({ check }: { check: Json }) {
  const { kind, word } = instanceStatus(textOf(check['state']))
  const balancers = objectsOf(check['loadBalancers']).map(({ loadBalancerName, name, description, state }) => {
    return `${textOf(loadBalancerName) ?? textOf(name) ?? ''}: ${textOf(description) ?? textOf(state) ?? ''}`
  })
  const text = [textOf(check['healthCheckUrl']), textOf(check['description']), ...balancers].filter(Boolean).join(', ')
  return (
    <li class="run-row">
      <StatusMark kind={kind} label={word} />
      <strong>{textOf(check['type']) ?? 'unknown'}</strong>
      <span class="muted">{word}</span>
      <span class="grow cut">
        <Name text={text} max={160} />
      </span>
    </li>
  )
}
