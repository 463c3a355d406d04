/** Creates, changes and deletes security groups. */
import { useState } from 'preact/hooks'
import { completeTask, objectKey } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { Difference } from '../components/difference.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { ChoiceField, TextField } from '../components/form-fields.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { isSame } from '../model/edits.ts'
import {
  applicationOf,
  newRule,
  type RuleDraft,
  type SecurityGroupDraft,
  toSecurityGroupDraft,
  toSecurityGroupJob,
} from '../model/infrastructure.ts'
import { textOf } from '../model/read.ts'
import { askToDelete } from './deletion.tsx'
import { PlaceFields, providerAt, usePlaces } from './place-fields.tsx'

interface EditSecurityGroupProps {
  readonly group: Schemas['SecurityGroup'] | undefined
  readonly place: { readonly account: string; readonly region: string } | undefined
  /** The application of a new one. */
  readonly application?: string
  /** Values that the form has at first. */
  readonly filled?: Partial<SecurityGroupDraft>
}

export function EditSecurityGroup({ group, place, application, filled = {} }: EditSecurityGroupProps) {
  const places = usePlaces('securityGroup')
  const [draft, setDraft] = useState(filled)
  const start = toSecurityGroupDraft(group, place ?? { account: places[0]?.account ?? '', region: places[0]?.regions[0] ?? '' })
  const values: SecurityGroupDraft = { ...start, ...(application !== undefined && { name: `${application}-` }), ...draft }
  const set = (change: Partial<SecurityGroupDraft>) => setDraft({ ...draft, ...change })
  const changes = [
    { name: 'Description', before: start.description, after: values.description },
    { name: 'Inbound rules', before: start.rules, after: values.rules },
  ].filter(({ before, after }) => !isSame(before, after))
  const save = async () => {
    await completeTask({
      application: group?.application ?? applicationOf(values.name),
      description: `Save ${values.name.trim()}`,
      job: [toSecurityGroupJob(values, providerAt(places, values.account, textOf(group?.['cloudProvider'])))],
      object: objectKey('securityGroup', values.account, values.region, values.name.trim()),
    })
    refreshMatching('/securityGroups')
    return undefined
  }
  return (
    <FormDialog
      title={group === undefined ? 'Create security group' : `Edit ${group.name}`}
      action={group === undefined ? 'Create security group' : `Save ${group.name}`}
      isReady={group === undefined ? applicationOf(values.name) !== '' : changes.length > 0}
      run={save}
      wide
    >
      <div class="question">
        {group === undefined && (
          <>
            <TextField
              label="Name"
              help="Begins with the application, such as web-front."
              value={values.name}
              onChange={(name) => set({ name })}
              required
            />
            <PlaceFields places={places} values={values} onChange={set} />
          </>
        )}
        <TextField label="Description" value={values.description} onChange={(description) => set({ description })} required />
      </div>
      <h3 class="sub">Inbound rules</h3>
      <Rules rules={values.rules} onChange={(rules) => set({ rules })} />
      {group !== undefined && changes.length > 0 && <Difference values={changes} />}
    </FormDialog>
  )
}

function Rules({ rules, onChange }: { rules: readonly RuleDraft[]; onChange: (rules: readonly RuleDraft[]) => void }) {
  return (
    <>
      {rules.length === 0 && <p class="muted">No rule: nothing is accepted.</p>}
      <RecordRows
        records={rules}
        onChange={onChange}
        label={(number) => `Rule ${number}`}
        removeLabel="Remove rule"
        addLabel="Add rule"
        added={newRule}
      >
        {(rule, set) => (
          <>
            <ChoiceField
              label="Kind of source"
              value={rule.isGroup ? 'security group' : 'network'}
              choices={['network', 'security group']}
              onChange={(kind) => set({ isGroup: kind === 'security group' })}
            />
            <TextField
              label="From"
              help={rule.isGroup ? undefined : 'Such as 10.0.0.0/8.'}
              value={rule.source}
              onChange={(source) => set({ source })}
              required
            />
            <ChoiceField
              label="Protocol"
              value={rule.protocol}
              choices={['tcp', 'udp']}
              onChange={(protocol) => set({ protocol })}
            />
            <TextField
              label="From port"
              help="Empty: all ports."
              value={rule.startPort}
              onChange={(startPort) => set({ startPort })}
              numeric
            />
            <TextField label="To port" value={rule.endPort} onChange={(endPort) => set({ endPort })} numeric />
          </>
        )}
      </RecordRows>
    </>
  )
}

export function deleteSecurityGroup(
  { name, application }: Schemas['SecurityGroup'],
  { provider, account, region }: { readonly provider: string; readonly account: string; readonly region: string },
): void {
  askToDelete({
    ...{ application: application ?? applicationOf(name), name, place: { account, region }, list: '/securityGroups' },
    effect: 'Its rules are removed. It is refused while something uses it.',
    job: {
      ...{ type: 'deleteSecurityGroup', cloudProvider: provider, credentials: account },
      ...{ securityGroupName: name, region, regions: [region] },
    },
    object: objectKey('securityGroup', account, region, name),
  })
}
