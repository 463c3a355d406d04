/** Load balancers, security groups, networks and accounts of everything that the reader may see. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { adminWords } from '../admin-words.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { openDialog } from '../components/dialog.tsx'
import { FilterField, NoMatch } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusText } from '../components/status-mark.tsx'
import { type Json, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { EditBalancer } from './balancer-dialog.tsx'
import { BalancerPanel } from './balancer-panel.tsx'
import { Permissions } from './explain.tsx'
import { InfrastructureHead, providerOf, providersOf, regionsOf, useAccounts } from './infrastructure-head.tsx'
import { applicationOf } from './place-fields.tsx'
import { deleteSecurityGroup, EditSecurityGroup } from './security-group-dialog.tsx'

/** What identifies an object of a cloud provider. */
interface Place {
  readonly provider: string
  readonly account: string
  readonly region: string
  readonly name: string
}

const maxShown = 500

interface ListProps<Row> {
  readonly label: string
  readonly empty: string
  readonly filter: string
  readonly rows: readonly Row[]
  readonly textOfRow: (row: Row) => string
  readonly keyOf: (row: Row) => string
  readonly columns: readonly Column<Row>[]
}

function List<Row>({ label, empty, filter, rows, textOfRow, keyOf, columns }: ListProps<Row>) {
  const shown = rows.filter((row) => textOfRow(row).toLowerCase().includes(filter.toLowerCase()))
  if (rows.length === 0) return <EmptyState text={empty} />
  return (
    <>
      <div class="filters">
        <FilterField value={filter} />
        {shown.length > maxShown && <span class="muted">{words.cut(maxShown, shown.length)}</span>}
      </div>
      {shown.length === 0 ? (
        <NoMatch text={adminWords.noMatch(label.toLowerCase(), filter)} />
      ) : (
        <div class="panel is-flush">
          <div class="panel-body">
            <DataTable label={label} rows={shown.slice(0, maxShown)} keyOf={keyOf} columns={columns} />
          </div>
        </div>
      )}
    </>
  )
}

const placeText = ({ provider, account, region, name }: Place) => [name, account, region, provider].join(' ')
const placeKey = ({ provider, account, region, name }: Place) => [provider, account, region, name].join('\n')

function placeColumns(section: string): readonly Column<Place>[] {
  return [
    {
      key: 'name',
      head: words.name,
      grow: true,
      cell: ({ provider, account, region, name }) => (
        <a href={to.infrastructure(section, { provider, account, region, name })}>
          <Name text={name} max={70} />
        </a>
      ),
    },
    { key: 'account', head: words.account, cell: ({ account }) => <Name text={account} max={40} /> },
    { key: 'region', head: words.region, cell: ({ region }) => <Name text={region} max={30} /> },
    { key: 'provider', head: words.provider, hideBelow: 'phone', cell: ({ provider }) => provider },
  ]
}

/** The chosen object above the list of all. */
function chosenOf(query: ScreenProps['query']): Place | undefined {
  const { provider, account, region, name } = query
  if (provider === undefined || account === undefined || region === undefined || name === undefined) return undefined
  return { provider, account, region, name }
}

interface FrameProps {
  readonly tab: string
  readonly chosen?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

function Screen({ tab, chosen, actions, children }: FrameProps) {
  return (
    <>
      <InfrastructureHead tab={tab} actions={actions} />
      <div class="stack">
        {chosen}
        <div>{children}</div>
      </div>
    </>
  )
}

/** The address without a section leads to the first. */
export function Infrastructure() {
  const { route: navigate } = useLocation()
  useEffect(() => navigate(to.infrastructure('load-balancers'), true), [])
  return null
}

export function LoadBalancers({ query }: ScreenProps) {
  const accounts = useAccounts()
  const chosen = chosenOf(query)
  return (
    <Screen
      tab={adminWords.loadBalancers}
      actions={
        <button
          type="button"
          class="button"
          onClick={() => openDialog(<EditBalancer application={undefined} balancer={undefined} />)}
        >
          <Icon name="plus" /> {adminWords.createBalancer}
        </button>
      }
      chosen={chosen && <ChosenBalancer key={placeKey(chosen)} place={chosen} />}
    >
      <Loaded live={accounts} empty={<EmptyState icon="balance" text={adminWords.loadBalancersEmpty} />}>
        {(found) =>
          providersOf(found).map((provider) => <BalancersOf key={provider} provider={provider} filter={query['q'] ?? ''} />)
        }
      </Loaded>
    </Screen>
  )
}

function BalancersOf({ provider, filter }: { provider: string; filter: string }) {
  const live = useLive('/loadBalancers', { query: { provider } }, { refresh: 'steady' })
  return (
    <Loaded live={live} empty={<EmptyState icon="balance" text={adminWords.loadBalancersEmpty} />}>
      {(items) => (
        <List
          label={adminWords.loadBalancers}
          empty={adminWords.loadBalancersEmpty}
          filter={filter}
          rows={items.flatMap((item) => placesOf(objectOf(item), provider))}
          textOfRow={placeText}
          keyOf={placeKey}
          columns={placeColumns('load-balancers')}
        />
      )}
    </Loaded>
  )
}

function placesOf(item: Json, provider: string): Place[] {
  const name = textOf(item['name']) ?? ''
  return objectsOf(item['accounts']).flatMap((account) =>
    objectsOf(account['regions']).map((region) => ({
      provider,
      account: textOf(account['name']) ?? '',
      region: textOf(region['name']) ?? '',
      name,
    })),
  )
}

function ChosenBalancer({ place: { provider, account, region, name } }: { place: Place }) {
  const live = useLive(
    '/loadBalancers/{account}/{region}/{name}',
    { path: { account, region, name }, query: { provider } },
    { refresh: 'steady' },
  )
  return (
    <Loaded live={live} empty={<EmptyState icon="balance" text={adminWords.gone(adminWords.loadBalancers, name)} />}>
      {([balancer]) => (balancer === undefined ? null : <BalancerPanel balancer={balancer} />)}
    </Loaded>
  )
}

export function SecurityGroups({ query }: ScreenProps) {
  const live = useLive('/securityGroups', { query: {} }, { refresh: 'slow' })
  const chosen = chosenOf(query)
  return (
    <Screen
      tab={adminWords.securityGroups}
      actions={
        <button
          type="button"
          class="button"
          onClick={() => openDialog(<EditSecurityGroup group={undefined} place={undefined} />)}
        >
          <Icon name="plus" /> {adminWords.createSecurityGroup}
        </button>
      }
      chosen={chosen && <ChosenSecurityGroup key={placeKey(chosen)} place={chosen} />}
    >
      <Loaded live={live}>
        {(byAccount) => (
          <List
            label={adminWords.securityGroups}
            empty={adminWords.securityGroupsEmpty}
            filter={query['q'] ?? ''}
            rows={flatten(byAccount)}
            textOfRow={placeText}
            keyOf={placeKey}
            columns={placeColumns('security-groups')}
          />
        )}
      </Loaded>
    </Screen>
  )
}

/** By account, provider and region. */
function flatten(byAccount: unknown): Place[] {
  return Object.entries(objectOf(byAccount)).flatMap(([account, byProvider]) =>
    Object.entries(objectOf(byProvider)).flatMap(([provider, byRegion]) =>
      Object.entries(objectOf(byRegion)).flatMap(([region, groups]) =>
        objectsOf(groups).flatMap((group) => {
          const name = textOf(group['name'])
          return name === undefined ? [] : [{ provider, account, region, name }]
        }),
      ),
    ),
  )
}

function ChosenSecurityGroup({ place: { provider, account, region, name } }: { place: Place }) {
  const live = useLive(
    '/securityGroups/{account}/{region}/{name}',
    { path: { account, region, name }, query: { provider } },
    { refresh: 'slow' },
  )
  const application = live.reading.value.body?.application ?? applicationOf(name)
  const right = useRight({ operation: changeOperation, application, account })
  return (
    <Loaded live={live} empty={<EmptyState text={adminWords.gone(adminWords.securityGroups, name)} />}>
      {(group) => (
        <Panel
          title={<Name text={group.name} max={60} />}
          actions={
            <Menu
              label={words.actionsOf(group.name)}
              items={[
                {
                  label: adminWords.edit,
                  icon: 'resize',
                  denied: right.reason ?? (provider === 'local' ? undefined : adminWords.onlyLocal),
                  onSelect: () => openDialog(<EditSecurityGroup group={group} place={{ account, region }} />),
                },
                {
                  label: adminWords.delete,
                  icon: 'trash',
                  destructive: true,
                  denied: right.reason,
                  onSelect: () => deleteSecurityGroup(group, { provider, account, region }),
                },
              ]}
            />
          }
        >
          <div class="answer">
            <KeyValue
              facts={[
                [words.place, `${account}, ${region}`],
                [words.description, group.description && <Name text={group.description} max={300} />],
              ]}
            />
            <Rules head={adminWords.rules} rules={objectsOf(group.inboundRules)} />
            {objectsOf(group.outboundRules).length > 0 && (
              <Rules head={adminWords.outbound} rules={objectsOf(group.outboundRules)} />
            )}
            {textsOf(group['warnings']).map((text) => (
              <p key={text} class="quiet">
                {text}
              </p>
            ))}
            <details>
              <summary>{words.rawRecord}</summary>
              <JsonTree value={group} name={group.name} />
            </details>
          </div>
        </Panel>
      )}
    </Loaded>
  )
}

function Rules({ head, rules }: { head: string; rules: readonly Json[] }) {
  if (rules.length === 0) return <p class="quiet">{adminWords.noRules}</p>
  return (
    <DataTable
      label={head}
      rows={rules.map((rule, index) => ({ rule, index }))}
      keyOf={({ index }) => String(index)}
      columns={[
        { key: 'protocol', head: adminWords.protocol, cell: ({ rule }) => textOf(rule['protocol']) ?? '–' },
        {
          key: 'ports',
          head: adminWords.ports,
          cell: ({ rule }) =>
            objectsOf(rule['portRanges'])
              .map(({ startPort, endPort }) =>
                startPort === endPort ? textOf(startPort) : `${textOf(startPort)}–${textOf(endPort)}`,
              )
              .join(', '),
        },
        { key: 'source', head: adminWords.source, grow: true, cell: ({ rule }) => <Name text={sourceOf(rule)} max={80} /> },
      ]}
    />
  )
}

function sourceOf(rule: Json): string {
  const range = objectOf(rule['range'])
  const ip = textOf(range['ip'])
  if (ip !== undefined) return `${ip}${textOf(range['cidr']) ?? ''}`
  return textOf(objectOf(rule['securityGroup'])['name']) ?? '–'
}

export function Networks({ query }: ScreenProps) {
  const live = useLive('/networks', {}, { refresh: 'slow' })
  return (
    <Screen tab={adminWords.networks}>
      <Loaded live={live}>
        {(byProvider) => (
          <List<Schemas['Network']>
            label={adminWords.networks}
            empty={adminWords.networksEmpty}
            filter={query['q'] ?? ''}
            rows={Object.values(byProvider).flat()}
            textOfRow={({ name, id, account, region }) => [name, id, account, region].join(' ')}
            keyOf={({ cloudProvider, account, region, id, name }) => [cloudProvider, account, region, id ?? name].join('\n')}
            columns={[
              {
                key: 'name',
                head: words.name,
                grow: true,
                cell: ({ name, id, deprecated }) => (
                  <>
                    <Name text={name ?? id ?? ''} max={70} />{' '}
                    {deprecated === true && <span class="chip">{adminWords.deprecated}</span>}
                  </>
                ),
              },
              { key: 'account', head: words.account, cell: ({ account }) => <Name text={account ?? '–'} max={40} /> },
              { key: 'region', head: words.region, cell: ({ region }) => <Name text={region ?? '–'} max={30} /> },
              { key: 'provider', head: words.provider, hideBelow: 'phone', cell: ({ cloudProvider }) => cloudProvider },
            ]}
          />
        )}
      </Loaded>
    </Screen>
  )
}

export function Accounts({ query }: ScreenProps) {
  const live = useAccounts()
  return (
    <Screen tab={adminWords.accounts}>
      <Loaded live={live} empty={<EmptyState icon="lock" text={adminWords.accountsEmpty} />}>
        {(accounts) => (
          <List
            label={adminWords.accounts}
            empty={adminWords.accountsEmpty}
            filter={query['q'] ?? ''}
            rows={accounts}
            textOfRow={({ name, type, environment }) => [name, type, environment].join(' ')}
            keyOf={({ name }) => name}
            columns={[
              { key: 'name', head: words.name, cell: ({ name }) => <Name text={name} max={50} /> },
              { key: 'provider', head: words.provider, cell: providerOf },
              {
                key: 'regions',
                head: adminWords.regions,
                hideBelow: 'narrow',
                cell: (account) => <Name text={regionsOf(account).join(', ')} max={80} />,
              },
              {
                key: 'permissions',
                head: adminWords.permissions,
                grow: true,
                hideBelow: 'phone',
                cell: ({ permissions }) => <Permissions permissions={permissions} />,
              },
              {
                key: 'write',
                head: adminWords.mayWrite,
                cell: ({ authorized }) => (
                  <StatusText
                    status={authorized ? { kind: 'succeeded', word: words.yes } : { kind: 'disabled', word: words.no }}
                  />
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Screen>
  )
}
