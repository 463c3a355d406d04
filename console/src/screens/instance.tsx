/** One instance: its checks, what happened to it, and its output. */

import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { ProgramTabs } from '../components/program-tabs.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusBadge, StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { type Json, numberOf, objectOf, objectsOf, textOf } from '../model/read.ts'
import { type Instance, instanceId, statusOfInstance } from '../model/server-groups.ts'
import { instanceStatus } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'

export function InstanceScreen({ params, query }: ScreenProps) {
  const [application = '', account = '', region = '', id = ''] = ['application', 'account', 'region', 'id'].map(
    (key) => params[key],
  )
  const live = useLive(
    '/instances/{account}/{region}/{instanceId}',
    { path: { account, region, instanceId: id } },
    { refresh: 'steady', events: applicationEvents(application, 'infrastructure') },
  )
  return (
    <Loaded
      live={live}
      title={id}
      rows={8}
      empty={<EmptyState text={`There is no instance ${id}. It may have been replaced.`} />}
    >
      {(instance) => {
        const status = statusOfInstance(instance)
        const group = instance.serverGroup
        const place = { account, region, id, provider: instance.cloudProvider ?? undefined }
        return (
          <>
            <PageHead
              tab={instanceId(instance)}
              title={<Name text={instanceId(instance)} max={50} />}
              crumbs={[
                ...applicationCrumbs(application),
                ...(group
                  ? [{ label: <Name text={group} />, href: to.serverGroup(application, { account, region, name: group }) }]
                  : []),
              ]}
              state={<StatusBadge status={status} />}
            />
            <ProgramTabs name={instanceId(instance)} query={query} place={place} record={instance}>
              <Details instance={instance} />
            </ProgramTabs>
          </>
        )
      }}
    </Loaded>
  )
}

function Details({ instance }: { instance: Instance }) {
  const process = objectOf(instance['process'])
  const events = objectsOf(instance['events'])
  return (
    <div class="stack">
      <Panel title="Details">
        <KeyValue
          facts={[
            ['Account', instance.account],
            ['Region', instance.region],
            ['Zone', instance.zone],
            ['Address', [textOf(instance['privateIpAddress']), textOf(instance['port'])].filter(Boolean).join(':')],
            ['Since', <Time key="since" at={instance.launchTime} />],
            ['Restarts', numberOf(process['restarts'])],
            ['Process', numberOf(process['pid'])],
          ]}
        />
      </Panel>
      <Checks checks={objectsOf(instance.health)} />
      {events.length > 0 && <Events events={events} />}
    </div>
  )
}

function Checks({ checks }: { checks: readonly Json[] }) {
  return (
    <Panel title="Health checks" flush>
      <ul class="rows">
        {checks.map((check, index) => {
          const status = instanceStatus(textOf(check['state']))
          return (
            <li key={index} class="run-row">
              <StatusMark kind={status.kind} label={status.word} />
              <strong>{textOf(check['type']) ?? 'unknown'}</strong>
              <span class="muted">{status.word}</span>
              <span class="grow cut">
                <Name text={describeCheck(check)} max={160} />
              </span>
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}

function describeCheck(check: Json): string {
  const balancers = objectsOf(check['loadBalancers']).map((balancer) => {
    const name = textOf(balancer['loadBalancerName']) ?? textOf(balancer['name']) ?? ''
    return `${name}: ${textOf(balancer['description']) ?? textOf(balancer['state']) ?? ''}`
  })
  return [textOf(check['healthCheckUrl']), textOf(check['description']), ...balancers].filter(Boolean).join(', ')
}

function Events({ events }: { events: readonly Json[] }) {
  return (
    <Panel title="Events" flush>
      <ul class="rows">
        {events.toReversed().map((event, index) => (
          <li key={index} class="run-row">
            <span class="muted aside">
              <Time at={numberOf(event['at'])} />
            </span>
            <span class="grow">
              <Name text={textOf(event['text']) ?? ''} max={300} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
