/** Security groups, which say who may open connections: of an application, or of everything that the reader may see. */
import { to } from '../address.ts'
import { objectKey } from '../api/actions.ts'
import { hasForm, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { useActions } from '../components/actions.tsx'
import { DataTable } from '../components/data-table.tsx'
import { openDialog } from '../components/dialog.tsx'
import { RecordFold } from '../components/json-tree.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { applicationOf, securityGroupsOf } from '../model/infrastructure.ts'
import { type Json, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { CreatePlace, notEdited } from './place-dialog.tsx'
import { List, PlaceScreen, placeColumns } from './place-list.tsx'
import { EditSecurityGroup } from './security-group-dialog.tsx'

const label = 'Security groups'

export function SecurityGroups(screen: ScreenProps) {
  const { application, account, region, name } = screen.params
  const live = useLive('/securityGroups', { query: {} }, { refresh: 'slow' })
  const { body } = live.reading.value
  const groups = securityGroupsOf(body).filter((group) => application === undefined || group.application === application)
  const inPath = groups.find((group) => group.account === account && group.region === region && group.name === name)
  const empty =
    application === undefined
      ? 'No security group. Without one, load balancers accept connections from every network.'
      : `${application} has no security group. Names of its groups begin with ${application}-.`
  return (
    <PlaceScreen
      {...{ ...screen, section: 'security-groups', label }}
      actions={
        <CreatePlace form="securityGroup" application={application} dialog={<EditSecurityGroup application={application} />} />
      }
      panel={({ provider = inPath?.provider, ...place }) =>
        // Where the address leaves it out, the list says the provider.
        (provider !== undefined || body !== undefined) && (
          <ChosenSecurityGroup key={Object.values(place).join()} provider={provider} {...place} />
        )
      }
    >
      <Loaded live={live} rows={6}>
        {() => (
          <List
            {...{ label, empty, screen, rows: groups }}
            placeOf={({ application: _, ...place }) => place}
            columns={placeColumns((place) => to.place('security-groups', application, place))}
          />
        )}
      </Loaded>
    </PlaceScreen>
  )
}

interface ChosenProps {
  readonly provider: string | undefined
  readonly account: string
  readonly region: string
  readonly name: string
}

function ChosenSecurityGroup({ provider, account, region, name }: ChosenProps) {
  const live = useLive(
    '/securityGroups/{account}/{region}/{name}',
    { path: { account, region, name }, query: provider === undefined ? {} : { provider } },
    { refresh: 'slow' },
  )
  const { body } = live.reading.value
  const cloudProvider = provider ?? textOf(body?.['cloudProvider']) ?? ''
  const isEdited = hasForm(useCloudProviders(), cloudProvider, 'securityGroup')
  const target = {
    ...{ application: body?.application ?? applicationOf(name), account, name },
    object: objectKey('securityGroup', account, region, name),
    facts: Object.entries({ Account: account, Region: region }),
    place: { cloudProvider, credentials: account, securityGroupName: name, region, regions: [region] },
  }
  const actions = useActions(target, [
    {
      ...{ label: 'Edit', icon: 'resize', denied: isEdited ? undefined : notEdited },
      onSelect: () => openDialog(<EditSecurityGroup application={target.application} group={body} place={{ account, region }} />),
    },
    {
      ...{ type: 'deleteSecurityGroup', label: 'Delete', icon: 'trash', destructive: true, list: '/securityGroups' },
      effect: 'Its rules are removed. It is refused while something uses it. This cannot be undone.',
    },
  ])
  return (
    <Loaded live={live} empty={<EmptyState text={`There is no security group ${name}. It may have been deleted.`} />}>
      {(group) => (
        <Panel title={<Name text={group.name} max={60} />} actions={<Menu label={`Actions of ${group.name}`} items={actions} />}>
          <div class="answer">
            <KeyValue
              facts={[
                ['Account, region', `${account}, ${region}`],
                ['Description', group.description],
              ]}
            />
            <Rules head="Inbound rules" rules={objectsOf(group.inboundRules)} />
            {objectsOf(group.outboundRules).length > 0 && <Rules head="Outbound rules" rules={objectsOf(group.outboundRules)} />}
            {textsOf(group['warnings']).map((text) => (
              <p key={text} class="quiet">
                {text}
              </p>
            ))}
            <RecordFold value={group} name={group.name} />
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
        { head: 'Protocol', cell: ({ rule }) => textOf(rule['protocol']) ?? '–' },
        {
          head: 'Ports',
          cell: ({ rule }) =>
            objectsOf(rule['portRanges'])
              .map(({ startPort, endPort }) => [...new Set([textOf(startPort), textOf(endPort)])].join('–'))
              .join(', '),
        },
        { head: 'From', grow: true, cell: ({ rule }) => sourceOf(rule) },
      ]}
    />
  )
}

function sourceOf({ range, securityGroup }: Json): string {
  const { ip, cidr } = objectOf(range)
  if (textOf(ip) !== undefined) return `${textOf(ip)}${textOf(cidr) ?? ''}`
  return textOf(objectOf(securityGroup)['name']) ?? '–'
}
