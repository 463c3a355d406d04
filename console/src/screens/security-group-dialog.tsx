/** The dialog that creates or changes a security group. */
import type { Schemas } from '../api/client.ts'
import { ChoiceField, TextField } from '../components/form-fields.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { newRule, type SecurityGroupDraft, toSecurityGroupDraft, toSecurityGroupJob } from '../model/infrastructure.ts'
import type { Json } from '../model/read.ts'
import { PlaceDialog } from './place-dialog.tsx'

interface EditSecurityGroupProps {
  readonly application: string | undefined
  readonly group?: Schemas['SecurityGroup'] | undefined
  /** Of the group, whose record may leave it out. */
  readonly place?: { readonly account: string; readonly region: string }
  /** Fields of an earlier job. */
  readonly filled?: Json
}

export function EditSecurityGroup({ application, group, place, filled }: EditSecurityGroupProps) {
  return (
    <PlaceDialog
      {...{ form: 'securityGroup', application, stored: group && { ...group, ...place }, filled }}
      labels={{ description: 'Description', rules: 'Inbound rules' }}
      toDraft={toSecurityGroupDraft}
      toJob={toSecurityGroupJob}
    >
      {({ description, rules }, set) => (
        <>
          <div class="question">
            <TextField label="Description" value={description} onChange={(text) => set({ description: text })} required />
          </div>
          <h3 class="sub">Inbound rules</h3>
          {rules.length === 0 && <p class="muted">No rule: nothing is accepted.</p>}
          <Rules rules={rules} onChange={(changed) => set({ rules: changed })} />
        </>
      )}
    </PlaceDialog>
  )
}

type Rule = SecurityGroupDraft['rules'][number]

function Rules({ rules, onChange }: { rules: readonly Rule[]; onChange: (rules: readonly Rule[]) => void }) {
  const sources = ['network', 'security group']
  return (
    <RecordRows
      {...{ records: rules, onChange, added: newRule, removeLabel: 'Remove rule', addLabel: 'Add rule' }}
      label={(number) => `Rule ${number}`}
    >
      {({ isGroup, source, protocol, startPort, endPort }, set) => (
        <>
          <ChoiceField
            label="Kind of source"
            value={sources[Number(isGroup)] ?? ''}
            choices={sources}
            onChange={(kind) => set({ isGroup: kind !== 'network' })}
          />
          <TextField
            label="From"
            help={isGroup ? undefined : 'Such as 10.0.0.0/8.'}
            value={source}
            onChange={(text) => set({ source: text })}
            required
          />
          <ChoiceField label="Protocol" value={protocol} choices={['tcp', 'udp']} onChange={(text) => set({ protocol: text })} />
          <TextField
            label="From port"
            help="Empty: all ports."
            value={startPort}
            onChange={(text) => set({ startPort: text })}
            numeric
          />
          <TextField label="To port" value={endPort} onChange={(text) => set({ endPort: text })} numeric />
        </>
      )}
    </RecordRows>
  )
}
