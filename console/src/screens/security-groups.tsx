/** Security groups: who may open connections to load balancers. Of everything that the reader may see, and of an application. */
import { to } from '../address.ts'
import { hasForm, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { Beside } from '../components/beside.tsx'
import { Button } from '../components/button.tsx'
import { DataTable } from '../components/data-table.tsx'
import { openDialog } from '../components/dialog.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { applicationOf, securityGroupsOf } from '../model/infrastructure.ts'
import { type Json, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'

import { chosenOf, InfrastructureFrame, List, type Place, placeColumns, placeKey, placeText } from './place-list.tsx'
import { deleteSecurityGroup, EditSecurityGroup } from './security-group-dialog.tsx'

export function SecurityGroups({ query }: ScreenProps) {
  const live = useLive('/securityGroups', { query: {} }, { refresh: 'slow' })
  const chosen = chosenOf(query)
  return (
    <InfrastructureFrame
      tab="Security groups"
      section="security-groups"
      actions={
        <Button icon="plus" onClick={() => openDialog(<EditSecurityGroup group={undefined} place={undefined} />)}>
          Create security group
        </Button>
      }
      chosen={chosen && <ChosenSecurityGroup key={placeKey(chosen)} place={chosen} />}
    >
      <Loaded live={live}>
        {(byAccount) => (
          <List
            label="Security groups"
            empty="No security group. Without one, load balancers accept connections from every network."
            query={query}
            rows={securityGroupsOf(byAccount)}
            textOfRow={placeText}
            placeOfRow={(place) => place}
            keyOf={placeKey}
            columns={placeColumns((place) => to.infrastructure('security-groups', { ...place }))}
          />
        )}
      </Loaded>
    </InfrastructureFrame>
  )
}

/** Those of one application. */
export function ApplicationSecurityGroups({ params, query }: ScreenProps) {
  const { application = '', account, region, name } = params as Readonly<Record<string, string | undefined>>
  const live = useLive('/securityGroups', { query: {} }, { refresh: 'slow' })
  const right = useRight({ operation: changeOperation, application })
  const providers = useCloudProviders()
  const isOffered = providers.length === 0 || providers.some(({ forms }) => forms.includes('securityGroup'))
  const { body } = live.reading.value
  const groups = body === undefined ? undefined : securityGroupsOf(body).filter((group) => group.application === application)
  const provider =
    query['provider'] ??
    groups?.find((group) => group.account === account && group.region === region && group.name === name)?.provider
  const create = (
    <Button
      icon="plus"
      denied={
        right.reason ?? (isOffered ? undefined : 'No account here takes security groups from a form. Deploy a manifest instead.')
      }
      onClick={() => openDialog(<EditSecurityGroup group={undefined} place={undefined} application={application} />)}
    >
      Create security group
    </Button>
  )
  return (
    <>
      <ApplicationHead application={application} tab="Security groups" actions={create} />
      <Beside
        label={name ?? ''}
        back={{ href: to.places('security-groups', application), label: `All security groups of ${application}` }}
        side={
          account !== undefined &&
          region !== undefined &&
          name !== undefined &&
          groups !== undefined && <ChosenSecurityGroup key={name} place={{ provider, account, region, name }} />
        }
      >
        <Loaded live={live} rows={6}>
          {() => (
            <List
              label="Security groups"
              empty={`${application} has no security group. Names of its groups begin with ${application}-.`}
              query={name === undefined ? query : { ...query, name }}
              rows={groups ?? []}
              textOfRow={placeText}
              // The path of a chosen group has its place, which a filter could not replace.
              placeOfRow={name === undefined ? (place) => place : () => ({})}
              keyOf={placeKey}
              columns={placeColumns((place) => to.place('security-groups', application, place))}
            />
          )}
        </Loaded>
      </Beside>
    </>
  )
}

type SomePlace = Omit<Place, 'provider'> & { readonly provider: string | undefined }

function ChosenSecurityGroup({ place: { provider, account, region, name } }: { place: SomePlace }) {
  const live = useLive(
    '/securityGroups/{account}/{region}/{name}',
    { path: { account, region, name }, query: provider === undefined ? {} : { provider } },
    { refresh: 'slow' },
  )
  const application = live.reading.value.body?.application ?? applicationOf(name)
  const right = useRight({ operation: changeOperation, application, account })
  const isEdited = hasForm(useCloudProviders(), provider, 'securityGroup')
  return (
    <Loaded live={live} empty={<EmptyState text={`There is no security group ${name}. It may have been deleted.`} />}>
      {(group) => (
        <Panel
          title={<Name text={group.name} max={60} />}
          actions={
            <Menu
              label={`Actions of ${group.name}`}
              items={[
                {
                  label: 'Edit',
                  icon: 'resize',
                  denied:
                    right.reason ?? (isEdited ? undefined : 'There is no form for this provider: edit it where it comes from.'),
                  onSelect: () => openDialog(<EditSecurityGroup group={group} place={{ account, region }} />),
                },
                {
                  label: 'Delete',
                  icon: 'trash',
                  destructive: true,
                  denied: right.reason,
                  onSelect: () =>
                    deleteSecurityGroup(group, { provider: provider ?? textOf(group['cloudProvider']) ?? '', account, region }),
                },
              ]}
            />
          }
        >
          <div class="answer">
            <KeyValue
              facts={[
                ['Account, region', `${account}, ${region}`],
                ['Description', group.description && <Name text={group.description} max={300} />],
              ]}
            />
            <Rules head="Inbound rules" rules={objectsOf(group.inboundRules)} />
            {objectsOf(group.outboundRules).length > 0 && <Rules head="Outbound rules" rules={objectsOf(group.outboundRules)} />}
            {textsOf(group['warnings']).map((text) => (
              <p key={text} class="quiet">
                {text}
              </p>
            ))}
            <details>
              <summary>Raw record</summary>
              <JsonTree value={group} name={group.name} />
            </details>
          </div>
        </Panel>
      )}
    </Loaded>
  )
}

function Rules({ head, rules }: { head: string; rules: readonly Json[] }) {
  if (rules.length === 0) return <p class="quiet">No rule: nothing is accepted.</p>
  return (
    <DataTable
      label={head}
      rows={rules.map((rule, index) => ({ rule, index }))}
      keyOf={({ index }) => String(index)}
      columns={[
        { key: 'protocol', head: 'Protocol', cell: ({ rule }) => textOf(rule['protocol']) ?? '–' },
        {
          key: 'ports',
          head: 'Ports',
          cell: ({ rule }) =>
            objectsOf(rule['portRanges'])
              .map(({ startPort, endPort }) =>
                startPort === endPort ? textOf(startPort) : `${textOf(startPort)}–${textOf(endPort)}`,
              )
              .join(', '),
        },
        { key: 'source', head: 'From', grow: true, cell: ({ rule }) => <Name text={sourceOf(rule)} max={80} /> },
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
