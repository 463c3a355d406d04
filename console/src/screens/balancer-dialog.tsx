/** The dialog that creates or changes a load balancer. */
import type { Schemas } from '../api/client.ts'
import { useCloudProvider } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { CheckField, CheckList, ChoiceField, TextField } from '../components/form-fields.tsx'
import { Name } from '../components/name.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { type BalancerDraft, newListener, toBalancerDraft, toBalancerJob } from '../model/infrastructure.ts'
import { type Json, objectOf, objectsOf, textOf } from '../model/read.ts'
import { PlaceDialog } from './place-dialog.tsx'

const checkLabels = {
  healthCheck: 'Health check',
  healthInterval: 'Check every, in seconds',
  healthTimeout: 'Time for a check, in seconds',
  unhealthyThreshold: 'Failed checks until down',
  healthyThreshold: 'Good checks until up',
} as const
const labels = {
  ...checkLabels,
  ...{ listeners: 'Listeners', securityGroups: 'Security groups', isInternal: 'Internal: only this machine connects' },
} as const

interface EditBalancerProps {
  readonly application: string | undefined
  readonly balancer?: Schemas['LoadBalancer'] | undefined
  /** Fields of an earlier job. */
  readonly filled?: Json
}

export function EditBalancer({ application, balancer, filled }: EditBalancerProps) {
  return (
    <PlaceDialog
      {...{ form: 'loadBalancer', application, stored: balancer, filled, labels }}
      toDraft={toBalancerDraft}
      toJob={toBalancerJob}
    >
      {(values, set, provider) => (
        <>
          <div class="question">
            {(Object.keys(checkLabels) as (keyof typeof checkLabels)[]).map((key) => (
              <TextField
                key={key}
                label={checkLabels[key]}
                help={key === 'healthCheck' ? 'HTTP:/health, or TCP.' : undefined}
                value={values[key]}
                onChange={(text) => set({ [key]: text })}
                numeric={key !== 'healthCheck'}
              />
            ))}
          </div>
          <h3 class="sub">{labels.listeners}</h3>
          <Listeners provider={provider} listeners={values.listeners} onChange={(listeners) => set({ listeners })} />
          <SecurityGroupChoice provider={provider} values={values} onChange={(securityGroups) => set({ securityGroups })} />
          <CheckField label={labels.isInternal} checked={values.isInternal} onChange={(isInternal) => set({ isInternal })} />
        </>
      )}
    </PlaceDialog>
  )
}

interface ListenersProps {
  readonly provider: string
  readonly listeners: BalancerDraft['listeners']
  readonly onChange: (listeners: BalancerDraft['listeners']) => void
}

function Listeners({ provider, listeners, onChange }: ListenersProps) {
  const help = useCloudProvider(provider)?.help
  return (
    <RecordRows
      {...{ records: listeners, onChange, added: newListener, removeLabel: 'Remove listener', addLabel: 'Add listener' }}
      label={(number) => `Listener ${number}`}
    >
      {(listener, set) => (
        <>
          <ChoiceField
            label="Protocol"
            value={listener.externalProtocol}
            choices={['HTTP', 'HTTPS', 'TCP']}
            onChange={(externalProtocol) => set({ externalProtocol })}
          />
          <TextField
            label="Port"
            value={listener.externalPort}
            onChange={(externalPort) => set({ externalPort })}
            numeric
            required
          />
          <ChoiceField
            label="To instances by"
            value={listener.internalProtocol}
            choices={['HTTP', 'TCP']}
            onChange={(internalProtocol) => set({ internalProtocol })}
          />
          {listener.externalProtocol === 'HTTPS' && (
            <TextField
              label="Certificate"
              help={help?.['certificate']}
              value={listener.certificate}
              onChange={(certificate) => set({ certificate })}
              required
            />
          )}
        </>
      )}
    </RecordRows>
  )
}

interface SecurityGroupChoiceProps {
  readonly provider: string
  readonly values: BalancerDraft
  readonly onChange: (names: readonly string[]) => void
}

/** Those of the account and region; none admits every client. */
function SecurityGroupChoice({ provider, values: { account, region, securityGroups }, onChange }: SecurityGroupChoiceProps) {
  const all = useLive('/securityGroups', { query: {} }, { refresh: 'slow' }).reading.value.body
  const groups = objectsOf(objectOf(objectOf(objectOf(all)[account])[provider])[region])
  const names = [...new Set([...groups.flatMap(({ name }) => textOf(name) ?? []), ...securityGroups])]
  if (names.length === 0) return null
  return (
    <CheckList
      label={labels.securityGroups}
      head={`${labels.securityGroups}: none admits every client`}
      choices={names.map((name) => ({ id: name, label: <Name text={name} max={60} /> }))}
      chosen={securityGroups}
      onChange={onChange}
    />
  )
}
