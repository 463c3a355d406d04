/** Security groups, which say who may open connections: of an application, or of everything that the reader may see. */

import { objectList, or, shape } from '@fairlead/base/json/shape.ts'
import { scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { type ScreenProps, to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { DataTable } from '../components/data-table.tsx'
import { RecordPanel } from '../components/record-panel.tsx'
import { Loaded } from '../components/screen.tsx'
import { applicationOf, securityGroupsOf } from '../model/infrastructure.ts'
import { CreatePlace, PlaceMenu } from './place-forms.tsx'
import { type ChosenPlace, List, PlaceScreen, placeColumns } from './place-list.tsx'

const label = 'Security groups'

export function SecurityGroups(screen: ScreenProps) {
  const { application, account, region, name } = screen.params
  const live = useLive('/securityGroups', { query: {} }, 'slow')
  const { body } = live
  const groups = securityGroupsOf(body).filter(
    (group) => application === undefined || group.application === application,
  )
  const inPath = groups.find(
    (group) => group.account === account && group.region === region && group.name === name,
  )
  const empty =
    application === undefined
      ? 'No security group. Without one, load balancers accept connections from every network.'
      : `${application} has no security group. Names of its groups begin with ${application}-.`
  return (
    <PlaceScreen
      {...screen}
      section="security-groups"
      label={label}
      actions={<CreatePlace form="securityGroup" application={application} />}
      panel={({ provider = inPath?.provider, ...place }) =>
        // Where the address leaves it out, the list says the provider.
        (provider !== undefined || body !== undefined) && (
          <ChosenSecurityGroup key={Object.values(place).join()} provider={provider} {...place} />
        )
      }
    >
      <List
        live={live}
        label={label}
        empty={empty}
        screen={screen}
        rowsOf={() => groups}
        placeOf={({ application: _, ...place }) => place}
        columns={placeColumns((place) => to.place('security-groups', application, place))}
      />
    </PlaceScreen>
  )
}

function ChosenSecurityGroup({ provider, account, region, name }: ChosenPlace) {
  const live = useLive(
    '/securityGroups/{account}/{region}/{name}',
    { path: { account, region, name }, query: provider === undefined ? {} : { provider } },
    'slow',
  )
  return (
    <Loaded live={live} empty={`There is no security group ${name}. It may have been deleted.`}>
      {(group) => (
        <RecordPanel
          name={group.name}
          actions={
            <PlaceMenu
              form="securityGroup"
              application={group.application ?? applicationOf(name)}
              place={{
                provider: provider ?? scalarOf(group['cloudProvider']) ?? '',
                account,
                region,
                name,
              }}
              stored={{ ...group, account, region }}
              effect="Its rules are removed. It is refused while something uses it."
            />
          }
          facts={[
            ['Account, region', `${account}, ${region}`],
            ['Description', group.description],
          ]}
          record={group}
        >
          <Rules head="Inbound rules" rules={toRules(group.inboundRules)} />
          {(group.outboundRules ?? []).length > 0 && (
            <Rules head="Outbound rules" rules={toRules(group.outboundRules)} />
          )}
          {textsOf(group['warnings']).map((text) => (
            <p key={text} class="muted">
              {text}
            </p>
          ))}
        </RecordPanel>
      )}
    </Loaded>
  )
}

const text = or(scalarOf, '')

const toRules = objectList(
  shape({
    protocol: or(scalarOf, '–'),
    portRanges: objectList(shape({ startPort: scalarOf, endPort: scalarOf })),
    range: shape({ ip: text, cidr: text }),
    securityGroup: shape({ name: or(scalarOf, '–') }),
  }),
)

function Rules({ head, rules }: { head: string; rules: ReturnType<typeof toRules> }) {
  if (rules.length === 0) return <p class="muted">No rule: nothing is accepted.</p>
  return (
    <DataTable
      label={head}
      rows={rules}
      keyOf={(rule) => String(rules.indexOf(rule))}
      columns={[
        { head: 'Protocol', cell: ({ protocol }) => protocol },
        {
          head: 'Ports',
          cell: ({ portRanges }) =>
            portRanges
              .map(({ startPort, endPort }) => [...new Set([startPort, endPort])].join('–'))
              .join(', '),
        },
        {
          head: 'From',
          grow: true,
          cell: ({ range, securityGroup }) => `${range.ip}${range.cidr}` || securityGroup.name,
        },
      ]}
    />
  )
}
