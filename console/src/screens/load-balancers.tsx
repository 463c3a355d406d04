/** Load balancers of an application, or of everything that the reader may see: where they listen, and who receives their traffic. */

import { objectList, or, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, numberOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { type ScreenProps, to } from '../address.ts'
import { objectKey } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import {
  providerOf,
  providersOf,
  regionsOf,
  useAccounts,
  useHasManifests,
} from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { type Action, PendingChip, useActions } from '../components/actions.tsx'
import { ActionButton } from '../components/button.tsx'
import { OpenLinks, servedBy, useBalancers, whyClosed } from '../components/open-link.tsx'
import { RecordPanel } from '../components/record-panel.tsx'
import { EmptyState, Loaded } from '../components/screen.tsx'
import { Name, NameLink, StatusBadge, StatusMark, StatusText } from '../components/text.tsx'
import { isFullName } from '../manifests/object.ts'
import { instanceStatus, type Status } from '../model/execution.ts'
import { type Place, placeOf } from '../model/infrastructure.ts'
import { CreatePlace, PlaceMenu } from './place-forms.tsx'
import { List, PlaceFilters, PlaceScreen, placeColumns } from './place-list.tsx'

type Balancer = Schemas['LoadBalancer']

const section = 'load-balancers'
const label = 'Load balancers'
const none = 'No load balancer. Without one, instances are reached by their own ports.'

const gone = (name: string) => `There is no load balancer ${name}. It may have been deleted.`

export function ApplicationLoadBalancers(screen: ScreenProps) {
  const { application = '' } = screen.params
  const live = useBalancers(application)
  const actions = <CreatePlace form="loadBalancer" application={application} />
  return (
    <PlaceScreen
      {...screen}
      section={section}
      label={label}
      actions={actions}
      panel={({ provider, account, region, name }) => (
        <Loaded live={live} icon="balance" empty={gone(name)}>
          {(balancers) => {
            const chosen = balancers.find((one) => {
              const place = placeOf(one)
              const isThere =
                place.account === account && place.region === region && place.name === name
              return isThere && (provider === undefined || place.provider === provider)
            })
            return chosen === undefined ? (
              <EmptyState icon="balance" text={gone(name)} />
            ) : (
              <BalancerPanel balancer={chosen} />
            )
          }}
        </Loaded>
      )}
    >
      <List
        live={live}
        label={label}
        icon="balance"
        empty={none}
        create={actions}
        screen={screen}
        placeOf={placeOf}
        rowsOf={(balancers) => balancers}
        columns={[
          { head: 'State', cell: (balancer) => <StatusText status={serviceOf(balancer)} /> },
          {
            head: 'Name',
            grow: true,
            cell: (balancer) => {
              const place = placeOf(balancer)
              return (
                <NameLink href={to.place(section, application, place)} text={place.name} max={50} />
              )
            },
          },
          {
            head: 'Listeners',
            hideBelow: 'narrow',
            cell: (one) => <span class="one-line">{listenersText(one)}</span>,
          },
          {
            head: 'Account, region',
            hideBelow: 'narrow',
            cell: ({ account, region }) => `${account}, ${region}`,
          },
          {
            head: 'Open',
            isBare: true,
            align: 'end',
            hideBelow: 'phone',
            cell: (one) => <OpenLinks balancers={[one]} />,
          },
        ]}
      />
    </PlaceScreen>
  )
}

export function LoadBalancers(screen: ScreenProps) {
  const accounts = useAccounts()
  const wanted = screen.query['name'] === undefined ? screen.query['provider'] : undefined
  return (
    <PlaceScreen
      {...screen}
      section={section}
      label={label}
      actions={<CreatePlace form="loadBalancer" application={undefined} />}
      panel={({ provider = '', ...place }) => <ChosenBalancer provider={provider} {...place} />}
    >
      <Loaded live={accounts} icon="balance" empty={none}>
        {(found) => (
          <>
            <PlaceFilters
              screen={screen}
              places={found.flatMap((account) =>
                regionsOf(account).map((region) => ({
                  provider: providerOf(account),
                  account: account.name,
                  region,
                })),
              )}
            />
            {providersOf(found)
              .filter((provider) => wanted === undefined || provider === wanted)
              .map((provider) => (
                <BalancersOf key={provider} provider={provider} screen={screen} />
              ))}
          </>
        )}
      </Loaded>
    </PlaceScreen>
  )
}

function BalancersOf({ provider, screen }: { provider: string; screen: ScreenProps }) {
  return (
    <List
      label={label}
      icon="balance"
      empty={none}
      screen={screen}
      isBare
      live={useLive('/loadBalancers', { query: { provider } })}
      rowsOf={(balancers) => balancers.flatMap((balancer) => placesOf(balancer, provider))}
      placeOf={(place) => place}
      columns={placeColumns((place) => to.infrastructure(section, place))}
    />
  )
}

const text = or(scalarOf, '')

const readSummary = shape({
  name: text,
  accounts: objectList(shape({ name: text, regions: objectList(shape({ name: text })) })),
})

function placesOf(balancer: unknown, provider: string) {
  const { name, accounts } = readSummary(balancer)
  return accounts.flatMap(({ name: account, regions }) =>
    regions.map(({ name: region }) => ({ provider, account, region, name })),
  )
}

const toInstance = shape({
  id: text,
  name: text,
  isOut: isTrue,
  health: shape({ state: text, description: text }),
})
type Instance = ReturnType<typeof toInstance>

const toGroup = shape({
  name: text,
  isDisabled: isTrue,
  instances: objectList(toInstance),
  detachedInstances: textsOf,
})
type Group = ReturnType<typeof toGroup>

const toListener = shape({
  externalProtocol: scalarOf,
  externalPort: scalarOf,
  internalProtocol: scalarOf,
  internalPort: scalarOf,
})

const readBalancer = shape({
  moniker: shape({ app: scalarOf }),
  serverGroups: objectList(toGroup),
  healthCheck: shape({ target: scalarOf, interval: numberOf }),
  listeners: objectList(toListener),
  securityGroups: textsOf,
})

function ChosenBalancer({ provider, ...path }: Place) {
  const live = useLive('/loadBalancers/{account}/{region}/{name}', { path, query: { provider } })
  return (
    <Loaded live={live} icon="balance" empty={gone(path.name)}>
      {([balancer]) => balancer && <BalancerPanel balancer={balancer} />}
    </Loaded>
  )
}

function BalancerPanel({ balancer }: { balancer: Balancer }) {
  const place = placeOf(balancer)
  const { account, region, provider, name } = place
  const { moniker, serverGroups: groups, healthCheck, ...read } = readBalancer(balancer)
  const application = moniker.app
  const isOfManifest = useHasManifests(provider)
  const used = groups.map((group) => group.name).filter(Boolean)
  const { target, interval } = healthCheck
  const menu = application !== undefined && !isOfManifest && (
    <PlaceMenu
      form="loadBalancer"
      application={application}
      place={place}
      stored={balancer}
      effect="Its listeners close, and clients can no longer connect."
      denied={used.length > 0 ? `Used by ${used.join(', ')}.` : undefined}
    />
  )
  return (
    <RecordPanel
      name={name}
      title={
        <NameLink href={to.place('load-balancers', application, place)} text={name} max={60} />
      }
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
        ['Health check', [target, interval && `every ${interval} s`].filter(Boolean).join(', ')],
        ['Security groups', read.securityGroups.join(', ')],
        ['Problems', whyClosed(balancer)],
      ]}
      record={balancer}
    >
      {groups.length === 0 && <p class="muted">No server group is attached.</p>}
      <div class="who-serves">
        {groups.map((group) => (
          <GroupTraffic
            key={group.name}
            group={group}
            place={place}
            application={application}
            isFixed={isOfManifest}
          />
        ))}
      </div>
    </RecordPanel>
  )
}

/** What is in service, and what should be: a disabled group takes no traffic on purpose. */
function serviceOf(balancer: Balancer): Status {
  const { serverGroups: groups } = readBalancer(balancer)
  const instancesOf = ({ instances }: Group) => instances
  const inService = groups.flatMap(instancesOf).filter(isInService).length
  const expected = groups.filter(({ isDisabled }) => !isDisabled).flatMap(instancesOf)
  const missing = expected.filter((instance) => !isInService(instance)).length
  if (whyClosed(balancer) !== '') return { kind: 'failed', word: 'its ports are closed' }
  if (inService === 0) return { kind: 'warning', word: 'serves nothing' }
  if (missing === 0) return { kind: 'succeeded', word: `${inService} in service` }
  return { kind: 'failed', word: `${inService} in service, ${missing} not in service` }
}

interface PartProps {
  readonly place: Place
  readonly application: string | undefined
  /** Instances are not taken out one by one. */
  readonly isFixed: boolean
}

function GroupTraffic({ group, ...part }: PartProps & { readonly group: Group }) {
  const { account, region } = part.place
  const { name, isDisabled, instances, detachedInstances } = group
  const detached = detachedInstances.map((id) => toInstance({ id, isOut: true }))
  // Those of a disabled group take no traffic, all of them.
  const rows = [...(isDisabled ? [] : instances), ...detached]
  return (
    <div class="traffic-group">
      <div>
        <NameLink
          href={part.application && to.serverGroup(part.application, { account, region, name })}
          text={name}
          max={50}
        />
        {isDisabled && <p class="muted">disabled: takes no traffic</p>}
      </div>
      <ul>
        {!isDisabled && rows.length === 0 && <li class="muted">no instance</li>}
        {rows.map((instance) => (
          <InstanceRow key={instance.id} instance={instance} {...part} />
        ))}
      </ul>
    </div>
  )
}

function InstanceRow({
  instance,
  place,
  application,
  isFixed,
}: PartProps & { readonly instance: Instance }) {
  const { account, region } = place
  const { isOut, health, name: named } = instance
  const id = isFullName(named) ? named : instance.id
  // Load balancers say it in words of their own.
  const word = isOut
    ? 'taken out by hand'
    : health.state === 'InService'
      ? 'in service'
      : instanceStatus(health.state || undefined).word
  return (
    <li>
      <StatusMark
        kind={isOut ? 'disabled' : isInService(instance) ? 'succeeded' : 'failed'}
        label={word}
      />
      <NameLink
        href={application && to.instance(application, { account, region, id })}
        text={id}
        max={40}
      />
      <Name class="grow muted" text={isOut ? word : health.description} max={160} />
      {application !== undefined && !isFixed && (
        <Move id={id} isOut={isOut} place={place} application={application} />
      )}
    </li>
  )
}

/** Takes an instance out of the traffic of a load balancer, or puts it back. */
function Move({
  id,
  isOut,
  place,
  application,
}: {
  id: string
  isOut: boolean
  place: Place
  application: string
}) {
  const { account, region, provider, name } = place
  const target = {
    application,
    account,
    name: id,
    object: objectKey('instance', account, region, id),
    place: {
      cloudProvider: provider,
      credentials: account,
      region,
      instanceIds: [id],
      loadBalancerNames: [name],
    },
  }
  const action: Action = isOut
    ? {
        type: 'registerInstancesWithLoadBalancer',
        label: 'Put into traffic',
        icon: 'plus',
        effect: `${name} sends requests to ${id} again.`,
        task: () => `Put ${id} into ${name}`,
      }
    : {
        type: 'deregisterInstancesFromLoadBalancer',
        label: 'Take out of traffic',
        icon: 'power',
        verb: 'Take out',
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

function isInService({ health }: Instance) {
  return ['InService', 'Up', 'healthy'].includes(health.state)
}

function listenersText(balancer: Balancer) {
  const texts = readBalancer(balancer).listeners.map((listener) => {
    const [outside, inside] = (['external', 'internal'] as const).map((side) =>
      [listener[`${side}Protocol`], listener[`${side}Port`]].filter(Boolean).join(' '),
    )
    return inside === '' || inside === outside ? outside : `${outside} → ${inside}`
  })
  return [...servedBy(balancer), ...texts].join('; ')
}
