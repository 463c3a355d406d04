/** One load balancer: where it listens, and which instances receive its traffic, or why they do not. */
import { to } from '../address.ts'
import { type Change, objectKey, pendingOf } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import { hasForm, hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { confirm } from '../components/confirm-dialog.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { OpenLinks } from '../components/open-link.tsx'
import { Panel } from '../components/panel.tsx'
import { PendingChip } from '../components/pending-chip.tsx'
import { StatusBadge, StatusMark } from '../components/status-mark.tsx'
import { isFullName } from '../manifests/names.ts'
import { placeOf } from '../model/infrastructure.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { instanceStatus, type Status } from '../model/status.ts'
import { EditBalancer } from './balancer-dialog.tsx'
import { askToDelete } from './deletion.tsx'

export type Balancer = Schemas['LoadBalancer']

export function BalancerPanel({ balancer }: { balancer: Balancer }) {
  const { account, region, provider, name } = placeOf(balancer)
  const application = textOf(objectOf(balancer.moniker)['app'])
  const right = useRight(application === undefined ? undefined : { operation: changeOperation, application, account })
  const providers = useCloudProviders()
  const isOfManifest = hasManifests(providers, provider)
  const groups = objectsOf(balancer.serverGroups)
  const check = objectOf(balancer['healthCheck'])
  const problems = textsOf(balancer['problems'])
  const key = objectKey('loadBalancer', account, region, name)
  return (
    <Panel
      title={
        <a
          href={
            application === undefined
              ? to.infrastructure('load-balancers', { provider, account, region, name })
              : to.place('load-balancers', application, { provider, account, region, name })
          }
        >
          <Name text={name} max={60} />
        </a>
      }
      actions={
        <>
          <PendingChip object={key} />
          <OpenLinks balancers={[balancer]} />
          <StatusBadge status={serviceOf(balancer)} />
          {application !== undefined && !isOfManifest && (
            <BalancerMenu application={application} balancer={balancer} denied={right.reason} />
          )}
        </>
      }
    >
      <div class="answer">
        <KeyValue
          facts={[
            ['Account, region', `${account}, ${region}`],
            ['Listeners', objectsOf(balancer['listeners']).map(listenerText).join('; ')],
            [
              'Health check',
              [textOf(check['target']), secondsText(check['interval'])].filter((text) => text !== undefined).join(', '),
            ],
            ['Security groups', textsOf(balancer.securityGroups).join(', ')],
            ['Problems', problems.length > 0 && <Name text={problems.join(' ')} max={400} />],
          ]}
        />
        {groups.length === 0 ? (
          <p class="quiet">No server group is attached.</p>
        ) : (
          <div class="who-serves">
            {groups.map((group) => (
              <Group
                key={textOf(group['name'])}
                group={group}
                balancer={balancer}
                application={application}
                denied={right.reason}
                isFixed={isOfManifest}
              />
            ))}
          </div>
        )}
        <details>
          <summary>Raw record</summary>
          <JsonTree value={balancer} name={name} />
        </details>
      </div>
    </Panel>
  )
}

interface BalancerMenuProps {
  readonly application: string
  readonly balancer: Balancer
  readonly denied: string | undefined
}

function BalancerMenu({ application, balancer, denied }: BalancerMenuProps) {
  const { account, region, provider, name } = placeOf(balancer)
  const isEdited = hasForm(useCloudProviders(), provider, 'loadBalancer')
  const used = objectsOf(balancer.serverGroups).flatMap((group) => textOf(group['name']) ?? [])
  const place = { credentials: account, region, regions: [region] }
  const remove = () =>
    askToDelete({
      ...{ application, name, place: { account, region }, list: 'oadBalancers' },
      effect: 'Its listeners close, and clients can no longer connect.',
      job: { type: 'deleteLoadBalancer', cloudProvider: provider, loadBalancerName: name, ...place },
      object: objectKey('loadBalancer', account, region, name),
    })
  return (
    <Menu
      label={`Actions of ${name}`}
      items={[
        {
          label: 'Edit',
          icon: 'resize',
          denied: denied ?? (isEdited ? undefined : 'There is no form for this provider: edit it where it comes from.'),
          onSelect: () => openDialog(<EditBalancer application={application} balancer={balancer} />),
        },
        {
          label: 'Delete',
          icon: 'trash',
          destructive: true,
          denied: denied ?? (used.length > 0 ? `Used by ${used.join(', ')}.` : undefined),
          onSelect: remove,
        },
      ]}
    />
  )
}

/** What is in service, and what should be: a disabled group takes no traffic on purpose. */
export function serviceOf({ serverGroups }: Balancer): Status {
  const groups = objectsOf(serverGroups)
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
  /** Why nothing may be changed. */
  readonly denied: string | undefined
  /** Instances are not taken out one by one. */
  readonly isFixed: boolean
}

function Group({ group, balancer, application, denied, isFixed }: GroupProps) {
  const { account, region } = placeOf(balancer)
  const name = textOf(group['name']) ?? ''
  const isDisabled = group['isDisabled'] === true
  // Those of a disabled group take no traffic, all of them.
  const instances = isDisabled ? [] : instancesOf(group)
  const isMoved = !isFixed && !isDisabled
  const context = { balancer, application, denied }
  return (
    <div class="traffic-group">
      <div>
        {application === undefined ? (
          <Name text={name} max={50} />
        ) : (
          <a href={to.serverGroup(application, { account, region, name })}>
            <Name text={name} max={50} />
          </a>
        )}
        {isDisabled && <p class="quiet">disabled: takes no traffic</p>}
      </div>
      <ul>
        {!isDisabled && instances.length === 0 && textsOf(group['detachedInstances']).length === 0 && (
          <li class="quiet">no instance</li>
        )}
        {instances.map((instance) => (
          <li key={textOf(instance['id'])}>
            <StatusMark
              kind={isInService(instance) ? 'succeeded' : 'failed'}
              label={stateWord(textOf(objectOf(instance['health'])['state']))}
            />
            <InstanceName id={idOf(instance)} {...context} />
            <span class="grow muted">
              <Name text={textOf(objectOf(instance['health'])['description']) ?? ''} max={160} />
            </span>
            {isMoved && <Move id={idOf(instance)} isOut={false} {...context} />}
          </li>
        ))}
        {textsOf(group['detachedInstances']).map((id) => (
          <li key={id}>
            <StatusMark kind="disabled" label="taken out by hand" />
            <InstanceName id={id} {...context} />
            <span class="grow muted">taken out by hand</span>
            <Move id={id} isOut {...context} />
          </li>
        ))}
      </ul>
    </div>
  )
}

interface InstanceProps {
  readonly id: string
  readonly balancer: Balancer
  readonly application: string | undefined
  readonly denied: string | undefined
}

function InstanceName({ id, balancer, application }: InstanceProps) {
  const { account, region } = placeOf(balancer)
  if (application === undefined) return <Name text={id} max={40} />
  return (
    <a href={to.instance(application, { account, region, id })}>
      <Name text={id} max={40} />
    </a>
  )
}

/** Takes an instance out of the traffic of this load balancer, or puts it back. */
function Move({ id, isOut, balancer, application, denied }: InstanceProps & { readonly isOut: boolean }) {
  if (application === undefined) return null
  const { account, region, provider, name } = placeOf(balancer)
  const key = objectKey('instance', account, region, id)
  if (pendingOf(key) !== undefined) return <PendingChip object={key} />
  const change = (): Change => ({
    application,
    description: isOut ? `Put ${id} into ${name}` : `Take ${id} out of ${name}`,
    job: [
      {
        type: isOut ? 'registerInstancesWithLoadBalancer' : 'deregisterInstancesFromLoadBalancer',
        cloudProvider: provider,
        credentials: account,
        region,
        instanceIds: [id],
        loadBalancerNames: [name],
      },
    ],
    object: key,
  })
  const ask = () => {
    if (denied !== undefined) return
    confirm(
      isOut
        ? {
            title: `Put into traffic: ${id}`,
            effect: `Put ${id} into ${name}`,
            action: 'Put into traffic',
            typed: id,
            account,
            change,
          }
        : {
            title: `Take ${id} out of traffic?`,
            effect: <p>{`${name} sends no more requests to ${id}. The instance keeps running, and can be put back.`}</p>,
            action: `Take out ${id}`,
            typed: id,
            account,
            change,
          },
    )
  }
  return (
    <button type="button" class="button small" aria-disabled={denied !== undefined} title={denied} onClick={ask}>
      <Icon name={isOut ? 'plus' : 'power'} /> {isOut ? 'Put into traffic' : 'Take out of traffic'}
    </button>
  )
}

function instancesOf(group: Json): readonly Json[] {
  return objectsOf(group['instances'])
}

/** As addresses take it. */
function idOf({ id, name }: Json): string {
  const [own, named] = [textOf(id) ?? '', textOf(name) ?? '']
  return isFullName(named) ? named : own
}

function isInService(instance: Json): boolean {
  const state = textOf(objectOf(instance['health'])['state'])
  return state === 'InService' || state === 'Up' || state === 'healthy'
}

/** Load balancers say it in words of their own. */
function stateWord(state: string | undefined): string {
  return state === 'InService' ? 'in service' : instanceStatus(state).word
}

export function listenerText(listener: Json): string {
  const outside = [textOf(listener['externalProtocol']), textOf(listener['externalPort'])].filter(Boolean).join(' ')
  const inside = [textOf(listener['internalProtocol']), textOf(listener['internalPort'])].filter(Boolean).join(' ')
  return inside === '' || inside === outside ? outside : `${outside} → ${inside}`
}

function secondsText(value: unknown): string | undefined {
  const seconds = numberOf(value)
  return seconds === undefined ? undefined : `every ${seconds} s`
}
