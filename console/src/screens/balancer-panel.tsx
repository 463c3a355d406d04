/** One load balancer: where it listens, and which instances receive its traffic, or why they do not. */
import { to } from '../address.ts'
import { objectKey } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { type Action, useActions } from '../components/actions.tsx'
import { ActionButton } from '../components/button.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { OpenLinks } from '../components/open-link.tsx'
import { PendingChip } from '../components/pending-chip.tsx'
import { RecordPanel } from '../components/record-panel.tsx'
import { StatusBadge, StatusMark } from '../components/status-mark.tsx'
import { isFullName } from '../manifests/names.ts'
import { type Place, placeOf } from '../model/infrastructure.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { instanceStatus, type Status } from '../model/status.ts'
import { PlaceMenu } from './place-forms.tsx'

export type Balancer = Schemas['LoadBalancer']

export function BalancerPanel({ balancer }: { balancer: Balancer }) {
  const place = placeOf(balancer)
  const { account, region, provider, name } = place
  const application = textOf(objectOf(balancer.moniker)['app'])
  const isOfManifest = hasManifests(useCloudProviders(), provider)
  const groups = objectsOf(balancer.serverGroups)
  const used = groups.flatMap((group) => textOf(group['name']) ?? [])
  const { target, interval } = objectOf(balancer['healthCheck'])
  const menu = application !== undefined && !isOfManifest && (
    <PlaceMenu
      {...{ form: 'loadBalancer', application, place, stored: balancer }}
      effect="Its listeners close, and clients can no longer connect."
      denied={used.length > 0 ? `Used by ${used.join(', ')}.` : undefined}
    />
  )
  return (
    <RecordPanel
      name={name}
      title={<NameLink href={to.place('load-balancers', application, place)} text={name} max={60} />}
      actions={
        <>
          <PendingChip object={objectKey('loadBalancer', account, region, name)} />
          <OpenLinks balancers={[balancer]} />
          <StatusBadge status={serviceOf(balancer)} />
          {menu}
        </>
      }
      facts={[
        ['Account, region', `${account}, ${region}`],
        ['Listeners', listenersText(balancer)],
        ['Health check', [textOf(target), numberOf(interval) && `every ${interval} s`].filter(Boolean).join(', ')],
        ['Security groups', textsOf(balancer.securityGroups).join(', ')],
        ['Problems', textsOf(balancer['problems']).join(' ')],
      ]}
      record={balancer}
    >
      {groups.length === 0 && <p class="quiet">No server group is attached.</p>}
      <div class="who-serves">
        {groups.map((group) => (
          <Group key={textOf(group['name'])} {...{ group, place, application, isFixed: isOfManifest }} />
        ))}
      </div>
    </RecordPanel>
  )
}

/** What is in service, and what should be: a disabled group takes no traffic on purpose. */
export function serviceOf({ serverGroups }: Balancer): Status {
  const groups = objectsOf(serverGroups)
  const instancesOf = (group: Json) => objectsOf(group['instances'])
  const inService = groups.flatMap(instancesOf).filter(isInService).length
  const expected = groups.filter((group) => group['isDisabled'] !== true).flatMap(instancesOf)
  const missing = expected.filter((instance) => !isInService(instance)).length
  if (inService === 0) return { kind: 'warning', word: 'serves nothing' }
  if (missing === 0) return { kind: 'succeeded', word: `${inService} in service` }
  return { kind: 'failed', word: `${inService} in service, ${missing} not in service` }
}

interface PartProps {
  /** Of the load balancer. */
  readonly place: Place
  readonly application: string | undefined
  /** Instances are not taken out one by one. */
  readonly isFixed: boolean
}

function Group({ group, ...part }: PartProps & { readonly group: Json }) {
  const { account, region } = part.place
  const name = textOf(group['name']) ?? ''
  const isDisabled = group['isDisabled'] === true
  // Those of a disabled group take no traffic, all of them.
  const instances = isDisabled ? [] : objectsOf(group['instances'])
  const detached = textsOf(group['detachedInstances']).map((id) => ({ id, isOut: true }))
  const rows = [...instances, ...detached]
  return (
    <div class="traffic-group">
      <div>
        <NameLink href={part.application && to.serverGroup(part.application, { account, region, name })} text={name} max={50} />
        {isDisabled && <p class="quiet">disabled: takes no traffic</p>}
      </div>
      <ul>
        {!isDisabled && rows.length === 0 && <li class="quiet">no instance</li>}
        {rows.map((instance) => (
          <InstanceRow key={textOf(instance['id'])} instance={instance} {...part} />
        ))}
      </ul>
    </div>
  )
}

function InstanceRow({ instance, place, application, isFixed }: PartProps & { readonly instance: Json }) {
  const { account, region } = place
  const { state, description } = objectOf(instance['health'])
  const named = textOf(instance['name']) ?? ''
  const id = isFullName(named) ? named : (textOf(instance['id']) ?? '')
  const isOut = instance['isOut'] === true
  // Load balancers say it in words of their own.
  const word = isOut ? 'taken out by hand' : state === 'InService' ? 'in service' : instanceStatus(textOf(state)).word
  return (
    <li>
      <StatusMark kind={isOut ? 'disabled' : isInService(instance) ? 'succeeded' : 'failed'} label={word} />
      <NameLink href={application && to.instance(application, { account, region, id })} text={id} max={40} />
      <span class="grow muted">
        <Name text={isOut ? word : (textOf(description) ?? '')} max={160} />
      </span>
      {application !== undefined && !isFixed && <Move {...{ id, isOut, place, application }} />}
    </li>
  )
}

/** Takes an instance out of the traffic of a load balancer, or puts it back. */
function Move({ id, isOut, place, application }: { id: string; isOut: boolean; place: Place; application: string }) {
  const { account, region, provider, name } = place
  const target = {
    ...{ application, account, name: id, object: objectKey('instance', account, region, id) },
    place: { cloudProvider: provider, credentials: account, region, instanceIds: [id], loadBalancerNames: [name] },
  }
  const action: Action = isOut
    ? {
        ...{ type: 'registerInstancesWithLoadBalancer', label: 'Put into traffic', icon: 'plus' },
        effect: `${name} sends requests to ${id} again.`,
        task: () => `Put ${id} into ${name}`,
      }
    : {
        ...{ type: 'deregisterInstancesFromLoadBalancer', label: 'Take out of traffic', icon: 'power', verb: 'Take out' },
        effect: `${name} sends no more requests to ${id}. The instance keeps running, and can be put back.`,
        task: () => `Take ${id} out of ${name}`,
      }
  return (
    <>
      <PendingChip object={target.object} />
      {useActions(target, [action]).map((one) => (
        <ActionButton key={one.label} action={one} small />
      ))}
    </>
  )
}

function isInService(instance: Json): boolean {
  return ['InService', 'Up', 'healthy'].includes(textOf(objectOf(instance['health'])['state']) ?? '')
}

export function listenersText(balancer: Balancer): string {
  const texts = objectsOf(balancer['listeners']).map((listener) => {
    const [outside, inside] = ['external', 'internal'].map((side) =>
      [textOf(listener[`${side}Protocol`]), textOf(listener[`${side}Port`])].filter(Boolean).join(' '),
    )
    return inside === '' || inside === outside ? outside : `${outside} → ${inside}`
  })
  return texts.join('; ')
}
