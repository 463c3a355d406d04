/** The dialog that creates or changes a load balancer. */
import { useState } from 'preact/hooks'
import { completeTask, objectKey } from '../api/actions.ts'
import { ApiError } from '../api/api-error.ts'
import type { Schemas } from '../api/client.ts'
import { useCloudProvider } from '../api/cloud-providers.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { type ChangedValue, Difference } from '../components/difference.tsx'
import { Field } from '../components/field.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { CheckField, ChoiceField, TextField } from '../components/form-fields.tsx'
import { Name } from '../components/name.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { isSame } from '../model/edits.ts'
import {
  applicationOf,
  type BalancerDraft,
  type ListenerDraft,
  newListener,
  toBalancerDraft,
  toBalancerJob,
} from '../model/infrastructure.ts'
import { objectOf, objectsOf, textOf } from '../model/read.ts'
import { PlaceFields, providerAt, usePlaces } from './place-fields.tsx'

const checkFields = {
  healthInterval: 'Check every, in seconds',
  healthTimeout: 'Time for a check, in seconds',
  unhealthyThreshold: 'Failed checks until down',
  healthyThreshold: 'Good checks until up',
}

interface EditBalancerProps {
  /** Undefined: the name decides, because it begins with the application. */
  readonly application: string | undefined
  readonly balancer: Schemas['LoadBalancer'] | undefined
  /** Values that the form has at first. */
  readonly filled?: Partial<BalancerDraft>
}

export function EditBalancer({ application, balancer, filled = {} }: EditBalancerProps) {
  const places = usePlaces('loadBalancer')
  const [first] = places
  const [draft, setDraft] = useState(filled)
  const start = toBalancerDraft(balancer, first?.account, first?.regions[0])
  const values: BalancerDraft = {
    ...start,
    ...(balancer === undefined && application !== undefined && { name: `${application}-` }),
    ...draft,
  }
  const set = (change: Partial<BalancerDraft>) => setDraft({ ...draft, ...change })
  const provider = providerAt(places, values.account, balancer?.cloudProvider ?? balancer?.type)
  const name = values.name.trim()
  const changes = changesOf(start, values)
  const save = async () => {
    const owner = application ?? applicationOf(name)
    if (owner === '') throw new ApiError({ status: 400, message: 'Begins with the application, such as web-front.' })
    await completeTask({
      application: owner,
      description: `Save ${name}`,
      job: [toBalancerJob(values, provider)],
      object: objectKey('loadBalancer', values.account, values.region, name),
    })
    refreshMatching('oadBalancers')
    return undefined
  }
  return (
    <FormDialog
      title={balancer === undefined ? 'Create load balancer' : `Edit ${values.name}`}
      action={balancer === undefined ? 'Create load balancer' : `Save ${values.name}`}
      isReady={balancer === undefined || changes.length > 0}
      run={save}
      wide
    >
      <div class="question">
        {balancer === undefined && (
          <>
            <TextField
              label="Name"
              help="Begins with the application, such as web-front."
              value={values.name}
              onChange={(text) => set({ name: text })}
              required
            />
            <PlaceFields places={places} values={values} onChange={set} />
          </>
        )}
        <TextField
          label="Health check"
          help="HTTP:/health, or TCP."
          value={values.healthCheck}
          onChange={(healthCheck) => set({ healthCheck })}
        />
        {(Object.keys(checkFields) as (keyof typeof checkFields)[]).map((key) => (
          <TextField key={key} label={checkFields[key]} value={values[key]} onChange={(text) => set({ [key]: text })} numeric />
        ))}
      </div>
      <h3 class="sub">Listeners</h3>
      <Listeners provider={provider} listeners={values.listeners} onChange={(listeners) => set({ listeners })} />
      <SecurityGroupChoice provider={provider} values={values} onChange={(securityGroups) => set({ securityGroups })} />
      <CheckField
        label="Internal: only this machine connects"
        checked={values.isInternal}
        onChange={(isInternal) => set({ isInternal })}
      />
      {balancer !== undefined && changes.length > 0 && <Difference values={changes} />}
    </FormDialog>
  )
}

function changesOf(before: BalancerDraft, after: BalancerDraft): readonly ChangedValue[] {
  const names: Readonly<Record<string, string>> = {
    ...checkFields,
    listeners: 'Listeners',
    healthCheck: 'Health check',
    isInternal: 'Internal: only this machine connects',
    securityGroups: 'Security groups',
  }
  return (Object.keys(names) as (keyof BalancerDraft)[]).flatMap((key) =>
    isSame(before[key], after[key]) ? [] : [{ name: names[key] ?? key, before: before[key], after: after[key] }],
  )
}

interface ListenersProps {
  readonly provider: string
  readonly listeners: readonly ListenerDraft[]
  readonly onChange: (listeners: readonly ListenerDraft[]) => void
}

function Listeners({ provider, listeners, onChange }: ListenersProps) {
  const help = useCloudProvider(provider)?.help
  return (
    <RecordRows
      records={listeners}
      onChange={onChange}
      label={(number) => `Listener ${number}`}
      removeLabel="Remove listener"
      addLabel="Add listener"
      added={newListener}
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
    <Field label="Security groups" help="None admits every client.">
      {(tied) => (
        <span class="chips" id={tied.id} role="group" aria-label="Security groups">
          {names.map((name) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                checked={securityGroups.includes(name)}
                onChange={(event) =>
                  onChange(event.currentTarget.checked ? [...securityGroups, name] : securityGroups.filter((one) => one !== name))
                }
              />{' '}
              <Name text={name} max={60} />
            </label>
          ))}
        </span>
      )}
    </Field>
  )
}
