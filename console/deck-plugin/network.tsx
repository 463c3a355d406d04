/** Load balancers and firewalls in Deck: panels, actions, and the dialogs that create or edit one. */

import { asGiven, maybe, objectList, shape, withAll } from '@fairlead/base/json/shape.ts'
import {
  type JsonObject,
  objectOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { ComponentChildren } from 'preact'
import { type Application, consoleUrl, core, provider, useEffect, useState } from './deck.ts'
import { confirm, openForm } from './dialogs.tsx'
import { Actions, ConsoleLink, type Named, Panel, Section, useItems } from './panel.tsx'
import { fieldsOf } from './stages.tsx'

const readGroups = objectList(withAll(shape({ instances: objectsOf })))
const toHealth = withAll(shape({ healthState: asGiven, state: asGiven }))

/** Deck's lists take health from the instances of a load balancer itself. */
export class LoadBalancerTransformer {
  normalizeLoadBalancer(balancer: JsonObject): PromiseLike<JsonObject> {
    const serverGroups = readGroups(balancer['serverGroups']).map(({ all, ...group }) => {
      const instances = group.instances.map((instance) => toInstance(instance, balancer))
      return { ...all, instances, instanceCounts: countStates(instances) }
    })
    const instances = serverGroups
      .filter((group: JsonObject) => group['isDisabled'] !== true)
      .flatMap(({ instances }) => instances)
    return Promise.resolve({
      ...balancer,
      provider,
      serverGroups,
      instances,
      instanceCounts: countStates(instances),
    })
  }
}

function toInstance(instance: JsonObject, { account, region }: JsonObject) {
  const { all: health, state, ...given } = toHealth(instance['health'])
  const healthState = given.healthState ?? (state === 'InService' ? 'Up' : state)
  return {
    ...instance,
    account,
    region,
    provider,
    cloudProvider: provider,
    health: [health],
    healthState,
  }
}

const counted = {
  Up: 'up',
  Down: 'down',
  OutOfService: 'outOfService',
  Starting: 'starting',
} as const

function countStates(instances: readonly JsonObject[]) {
  const counts: Record<string, number> = {
    up: 0,
    down: 0,
    outOfService: 0,
    starting: 0,
    unknown: 0,
    succeeded: 0,
    failed: 0,
  }
  for (const { healthState } of instances) {
    const name = counted[healthState as keyof typeof counted] ?? 'unknown'
    counts[name] = (counts[name] ?? 0) + 1
  }
  return { ...counts, total: instances.length }
}

/** What differs between them in dialogs, menus and jobs: `page` is in the console of Fairlead. */
const kinds = {
  LoadBalancer: {
    label: 'Load Balancer',
    items: 'loadBalancers',
    nameField: 'loadBalancerName',
    page: 'load-balancers',
  },
  SecurityGroup: {
    label: 'Firewall',
    items: 'securityGroups',
    nameField: 'securityGroupName',
    page: 'security-groups',
  },
} as const
type Kind = keyof typeof kinds

interface DialogProps {
  /** Deck's buttons give one or the other. */
  readonly app?: Application
  readonly application?: Application
}

/** @param former Values of the form for an existing one. @param initial Of a new one, besides its name and place. */
function openUpsert(
  kind: Kind,
  { app, application = app as Application }: DialogProps,
  former: JsonObject | undefined,
  initial: JsonObject,
) {
  const type = `upsert${kind}`
  const { label, items, nameField } = kinds[kind]
  const { name, defaultCredentials, defaultRegions } = application
  const place = {
    credentials: defaultCredentials?.[provider] ?? '',
    region: defaultRegions?.[provider] ?? '',
  }
  const fixed = [
    'cloudProvider',
    ...(former === undefined ? [] : ['credentials', 'regions', 'name']),
  ]
  return openForm({
    application,
    title:
      former === undefined ? `Create a ${label.toLowerCase()}` : `Edit ${String(former['name'])}`,
    fields: fieldsOf(type, (name) => !fixed.includes(name)),
    value: former ?? { ...place, name: `${name}-`, ...initial },
    action: former === undefined ? 'Create' : 'Update',
    refresh: () => application[items].refresh(true),
    toJob: (form) => ({ ...form, [nameField]: form['name'], type }),
  })
}

interface KindPanelProps {
  readonly kind: Kind
  readonly app: Application
  readonly place: Named
  readonly edit: () => Promise<unknown>
  readonly children: ComponentChildren
}

function KindPanel({ kind, app, place, edit, children }: KindPanelProps) {
  const { name, accountId: account, region } = place
  const { label, items, nameField, page } = kinds[kind]
  const remove = () =>
    confirm({
      application: app,
      title: `Delete ${name}`,
      action: 'Delete',
      account,
      job: {
        type: `delete${kind}`,
        [nameField]: name,
        credentials: account,
        region,
        regions: [region],
      },
      refresh: () => app[items].refresh(true),
    })
  const actions = [
    { label: 'Edit', run: () => edit().catch(() => undefined) },
    { label: 'Delete', run: remove },
  ]
  return (
    <Panel title={name} actions={<Actions label={`${label} Actions`} actions={actions} />}>
      {children}
      <ConsoleLink href={consoleUrl('applications', app.name, page, account, region, name)}>
        {name} in the console of Fairlead
      </ConsoleLink>
    </Panel>
  )
}

interface BalancerDialogProps extends DialogProps {
  readonly loadBalancer?: JsonObject | null
}

/** A new one, or the one that is given. */
export const LoadBalancerModal = {
  show({ loadBalancer, ...dialog }: BalancerDialogProps): Promise<unknown> {
    const former = loadBalancer ? toForm(loadBalancer) : undefined
    return openUpsert('LoadBalancer', dialog, former, { listeners: [{ externalProtocol: 'HTTP' }] })
  },
}

const toCheck = shape({ target: scalarOf, interval: asGiven })

/** What is read, as it is written. */
function toForm({ name, account, region, listeners, healthCheck, securityGroups }: JsonObject) {
  const { target, interval } = toCheck(healthCheck)
  return {
    name,
    credentials: account,
    region,
    listeners,
    healthCheck: target,
    healthInterval: interval,
    securityGroups,
  }
}

interface BalancerProps {
  readonly app: Application
  readonly loadBalancer: Named
}

const readBalancer = shape({
  dnsName: scalarOf,
  securityGroups: textsOf,
  serverGroups: objectList(shape({ name: String })),
  listeners: objectList(shape({ externalProtocol: String, host: String, externalPort: String })),
  healthCheck: toCheck,
})

export function LoadBalancerDetails({ app, loadBalancer: place }: BalancerProps) {
  const { name, accountId: account, region } = place
  const balancers = useItems(app, 'loadBalancers')
  const found = balancers?.find(
    (each) => each['name'] === name && each['account'] === account && each['region'] === region,
  )
  if (balancers === undefined) return <Panel title={name}>Loading …</Panel>
  if (found === undefined)
    return <Panel title={name}>The load balancer does not exist any more.</Panel>
  const edit = () => LoadBalancerModal.show({ app, loadBalancer: found })
  const balancer = readBalancer(found)
  return (
    <KindPanel kind="LoadBalancer" app={app} place={place} edit={edit}>
      <Section
        heading="Load Balancer Details"
        facts={{
          Created: core.timestamp(found['createdTime']),
          Account: <core.AccountTag account={account} />,
          Region: region,
          'DNS name': balancer.dnsName,
          Firewalls: balancer.securityGroups.join(', '),
          Groups: balancer.serverGroups.map((group) => group.name).join(', '),
        }}
      >
        <core.HealthCounts container={found['instanceCounts']} />
      </Section>
      <Section heading="Listeners">
        <ul>
          {balancer.listeners.map(({ externalProtocol, host, externalPort }) => (
            <li key={externalPort}>
              {externalProtocol} on {host}:{externalPort}
            </li>
          ))}
        </ul>
      </Section>
      <Section
        heading="Health Check"
        facts={{
          Target: balancer.healthCheck.target,
          Interval: `${String(balancer.healthCheck.interval)} s`,
        }}
      />
    </KindPanel>
  )
}

/** Deck resolves what a server group or load balancer names in its index by account and region. */
export class SecurityGroupReader {
  resolveIndexedSecurityGroup(index: JsonObject, container: JsonObject, id: string): unknown {
    const account = String(container['account'] ?? container['accountName'])
    return objectOf(objectOf(index[account])[String(container['region'])])[id]
  }
}

export class SecurityGroupTransformer {
  normalizeSecurityGroup(group: JsonObject): PromiseLike<JsonObject> {
    return Promise.resolve(group)
  }
}

interface FirewallDialogProps extends DialogProps {
  readonly securityGroup?: JsonObject
}

export const SecurityGroupModal = {
  show({ securityGroup, ...dialog }: FirewallDialogProps): Promise<unknown> {
    const former = securityGroup?.['name'] === undefined ? undefined : toRules(securityGroup)
    return openUpsert('SecurityGroup', dialog, former, { ipIngress: [{ type: 'tcp' }] })
  },
}

const toRange = shape({ ip: String, cidr: String })

const readRules = objectList(
  shape({
    protocol: asGiven,
    range: maybe((value) => {
      const { ip, cidr } = toRange(value)
      return `${ip}${cidr}`
    }),
    securityGroup: maybe(shape({ name: asGiven })),
    portRanges: objectsOf,
  }),
)

/** What is read, as it is written. */
function toRules({ name, accountName, region, description, inboundRules }: JsonObject) {
  const rules = readRules(inboundRules).flatMap((rule) =>
    rule.portRanges.map((ports) => ({ rule, type: rule.protocol, ...ports })),
  )
  return {
    name,
    credentials: accountName,
    region,
    description,
    ipIngress: rules
      .filter(({ rule }) => rule.range !== undefined)
      .map(({ rule, ...ports }) => ({ ...ports, cidr: rule.range })),
    securityGroupIngress: rules
      .filter(({ rule }) => rule.securityGroup !== undefined)
      .map(({ rule, ...ports }) => ({ ...ports, name: rule.securityGroup?.name })),
  }
}

interface FirewallProps {
  readonly app: Application
  readonly resolvedSecurityGroup: Named
}

export function SecurityGroupDetails({ app, resolvedSecurityGroup: place }: FirewallProps) {
  const { name: id, accountId: account, region } = place
  const listed = useItems(app, 'securityGroups')
  const [firewall, setFirewall] = useState<JsonObject | 'missing'>()
  useEffect(() => {
    const read = core.REST('/securityGroups').path(account, region, id).query({ provider })
    read.get<JsonObject>().then(setFirewall, () => setFirewall('missing'))
  }, [listed, account, region, id])
  if (firewall === undefined) return <Panel title={id}>Loading …</Panel>
  if (firewall === 'missing') return <Panel title={id}>The firewall does not exist any more.</Panel>
  const edit = () => SecurityGroupModal.show({ app, securityGroup: firewall })
  return (
    <KindPanel
      kind="SecurityGroup"
      app={app}
      place={{ ...place, name: String(firewall['name']) }}
      edit={edit}
    >
      <Section
        heading="Firewall Details"
        facts={{
          Id: scalarOf(firewall['id']),
          Account: <core.AccountTag account={account} />,
          Region: region,
          Description: scalarOf(firewall['description']),
        }}
      />
      <Section heading="Ingress">
        <ul>
          {readRules(firewall['inboundRules']).map((rule, at) => (
            <li key={String(at)}>{describeRule(rule)}</li>
          ))}
        </ul>
      </Section>
    </KindPanel>
  )
}

function describeRule(rule: ReturnType<typeof readRules>[number]) {
  const source = rule.range ?? String(rule.securityGroup?.name)
  const ports = rule.portRanges.map(({ startPort, endPort }) =>
    startPort === endPort ? String(startPort) : `${String(startPort)}–${String(endPort)}`,
  )
  return `${String(rule.protocol)} ${ports.join(', ')} from ${source}`
}
