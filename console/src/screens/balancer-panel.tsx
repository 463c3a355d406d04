/** One load balancer: where it listens, and which instances receive its traffic, or why they do not. */
import { to } from '../address.ts'
import { objectKey } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import { hasForm, hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { type Action, useActions } from '../components/actions.tsx'
import { ActionButton } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { RecordFold } from '../components/json-tree.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Menu } from '../components/menu.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { OpenLinks } from '../components/open-link.tsx'
import { Panel } from '../components/panel.tsx'
import { PendingChip } from '../components/pending-chip.tsx'
import { StatusBadge, StatusMark } from '../components/status-mark.tsx'
import { isFullName } from '../manifests/names.ts'
import { placeOf } from '../model/infrastructure.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { instanceStatus, type Status } from '../model/status.ts'
import { EditBalancer } from './balancer-dialog.tsx'
import { notEdited } from './place-dialog.tsx'

export type Balancer = Schemas['LoadBalancer']

export function BalancerPanel({ balancer }: { balancer: Balancer }) {
  const place = placeOf(balancer)
  const { account, region, provider, name } = place
  const application = textOf(objectOf(balancer.moniker)['app'])
  const isOfManifest = hasManifests(useCloudProviders(), provider)
  const groups = objectsOf(balancer.serverGroups)
  const { target, interval } = objectOf(balancer['healthCheck'])
  const every = numberOf(interval) === undefined ? undefined : `every ${numberOf(interval)} s`
  return (
    <Panel
      title={<NameLink href={to.place('load-balancers', application, place)} text={name} max={60} />}
      actions={
        <>
          <PendingChip object={objectKey('loadBalancer', account, region, name)} />
          <OpenLinks balancers={[balancer]} />
          <StatusBadge status={serviceOf(balancer)} />
          {application !== undefined && !isOfManifest && <BalancerMenu application={application} balancer={balancer} />}
        </>
      }
    >
      <div class="answer">
        <KeyValue
          facts={[
            ['Account, region', `${account}, ${region}`],
            ['Listeners', objectsOf(balancer['listeners']).map(listenerText).join('; ')],
            ['Health check', [textOf(target), every].filter(Boolean).join(', ')],
            ['Security groups', textsOf(balancer.securityGroups).join(', ')],
            ['Problems', textsOf(balancer['problems']).join(' ')],
          ]}
        />
        {groups.length === 0 ? (
          <p class="quiet">No server group is attached.</p>
        ) : (
          <div class="who-serves">
            {groups.map((group) => (
              <Group key={textOf(group['name'])} {...{ group, balancer, application, isFixed: isOfManifest }} />
            ))}
          </div>
        )}
        <RecordFold value={balancer} name={name} />
      </div>
    </Panel>
  )
}

function BalancerMenu({ application, balancer }: { application: string; balancer: Balancer }) {
  const { account, region, provider, name } = placeOf(balancer)
  const isEdited = hasForm(useCloudProviders(), provider, 'loadBalancer')
  const used = objectsOf(balancer.serverGroups).flatMap((group) => textOf(group['name']) ?? [])
  const target = {
    ...{ application, account, name, object: objectKey('loadBalancer', account, region, name) },
    facts: Object.entries({ Account: account, Region: region }),
    place: { cloudProvider: provider, loadBalancerName: name, credentials: account, region, regions: [region] },
  }
  const actions = useActions(target, [
    {
      ...{ label: 'Edit', icon: 'resize', denied: isEdited ? undefined : notEdited },
      onSelect: () => openDialog(<EditBalancer application={application} balancer={balancer} />),
    },
    {
      ...{ type: 'deleteLoadBalancer', label: 'Delete', icon: 'trash', destructive: true, list: '/loadBalancers' },
      denied: used.length > 0 ? `Used by ${used.join(', ')}.` : undefined,
      effect: 'Its listeners close, and clients can no longer connect. This cannot be undone.',
    },
  ])
  return <Menu label={`Actions of ${name}`} items={actions} />
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

interface GroupProps {
  readonly group: Json
  readonly balancer: Balancer
  readonly application: string | undefined
  /** Instances are not taken out one by one. */
  readonly isFixed: boolean
}

function Group({ group, balancer, application, isFixed }: GroupProps) {
  const { account, region } = placeOf(balancer)
  const name = textOf(group['name']) ?? ''
  const isDisabled = group['isDisabled'] === true
  // Those of a disabled group take no traffic, all of them.
  const instances = isDisabled ? [] : objectsOf(group['instances'])
  const detached = textsOf(group['detachedInstances'])
  const context = { balancer, application, isFixed }
  return (
    <div class="traffic-group">
      <div>
        <NameLink href={application && to.serverGroup(application, { account, region, name })} text={name} max={50} />
        {isDisabled && <p class="quiet">disabled: takes no traffic</p>}
      </div>
      <ul>
        {!isDisabled && instances.length + detached.length === 0 && <li class="quiet">no instance</li>}
        {instances.map((instance) => (
          <InstanceRow key={textOf(instance['id'])} instance={instance} {...context} />
        ))}
        {detached.map((id) => (
          <InstanceRow key={id} instance={{ id }} isOut {...context} />
        ))}
      </ul>
    </div>
  )
}

interface InstanceRowProps extends Omit<GroupProps, 'group'> {
  readonly instance: Json
  /** Taken out by hand. */
  readonly isOut?: boolean
}

function InstanceRow({ instance, isOut = false, balancer, application, isFixed }: InstanceRowProps) {
  const { account, region } = placeOf(balancer)
  const { state, description } = objectOf(instance['health'])
  const named = textOf(instance['name']) ?? ''
  const id = isFullName(named) ? named : (textOf(instance['id']) ?? '')
  // Load balancers say it in words of their own.
  const word = state === 'InService' ? 'in service' : instanceStatus(textOf(state)).word
  return (
    <li>
      {isOut ? (
        <StatusMark kind="disabled" label="taken out by hand" />
      ) : (
        <StatusMark kind={isInService(instance) ? 'succeeded' : 'failed'} label={word} />
      )}
      <NameLink href={application && to.instance(application, { account, region, id })} text={id} max={40} />
      <span class="grow muted">
        <Name text={isOut ? 'taken out by hand' : (textOf(description) ?? '')} max={160} />
      </span>
      {application !== undefined && !isFixed && <Move {...{ id, isOut, balancer, application }} />}
    </li>
  )
}

interface MoveProps {
  readonly id: string
  readonly isOut: boolean
  readonly balancer: Balancer
  readonly application: string
}

/** Takes an instance out of the traffic of this load balancer, or puts it back. */
function Move({ id, isOut, balancer, application }: MoveProps) {
  const { account, region, provider, name } = placeOf(balancer)
  const target = {
    ...{ application, account, name: id, object: objectKey('instance', account, region, id) },
    place: { cloudProvider: provider, credentials: account, region, instanceIds: [id], loadBalancerNames: [name] },
  }
  const action: Action = isOut
    ? {
        ...{ type: 'registerInstancesWithLoadBalancer', label: 'Put into traffic', icon: 'plus', verb: 'Put into traffic' },
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

export function listenerText(listener: Json): string {
  const outside = [textOf(listener['externalProtocol']), textOf(listener['externalPort'])].filter(Boolean).join(' ')
  const inside = [textOf(listener['internalProtocol']), textOf(listener['internalPort'])].filter(Boolean).join(' ')
  return inside === '' || inside === outside ? outside : `${outside} → ${inside}`
}
