/** The dialog that creates or changes a load balancer of the provider `local`. */
import { useState } from 'preact/hooks'
import { adminWords } from '../admin-words.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { ApiError } from '../api/api-error.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { type ChangedValue, Difference } from '../components/difference.tsx'
import { Field } from '../components/field.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { isSame } from '../model/edits.ts'
import { type BalancerDraft, type ListenerDraft, newListener, toBalancerDraft, toBalancerJob } from '../model/infrastructure.ts'
import { type Json, objectOf, objectsOf, textOf } from '../model/read.ts'
import { words } from '../words.ts'
import type { Balancer } from './balancer-panel.tsx'
import { ChoiceField, PlaceFields, TextField, useLocalPlaces } from './place-fields.tsx'

interface EditBalancerProps {
  /** Undefined: the name decides, because it begins with the application. */
  readonly application: string | undefined
  readonly balancer: Balancer | undefined
}

export function EditBalancer({ application, balancer }: EditBalancerProps) {
  const places = useLocalPlaces()
  const [first] = places
  const [draft, setDraft] = useState<Partial<BalancerDraft>>({})
  const start = toBalancerDraft(balancer, first?.account, first?.regions[0])
  const values: BalancerDraft = {
    ...start,
    ...(balancer === undefined && application !== undefined && { name: `${application}-` }),
    ...draft,
  }
  const set = (change: Partial<BalancerDraft>) => setDraft({ ...draft, ...change })
  const name = values.name.trim()
  const save = async () => {
    const owner = application ?? name.split('-')[0] ?? ''
    if (owner === '') throw new ApiError({ status: 400, message: adminWords.balancerName })
    await completeTask({
      application: owner,
      description: adminWords.saveObject(name),
      job: [toBalancerJob(values)],
      object: objectKey('loadBalancer', values.account, values.region, name),
    })
    refreshMatching('oadBalancers')
    return undefined
  }
  return (
    <FormDialog
      title={balancer === undefined ? adminWords.createBalancer : adminWords.editObject(values.name)}
      action={balancer === undefined ? adminWords.createBalancer : adminWords.saveObject(values.name)}
      isReady={balancer === undefined || changesOf(start, values).length > 0}
      run={save}
      wide
    >
      <div class="question">
        {balancer === undefined && (
          <>
            <TextField
              label={words.name}
              help={adminWords.balancerName}
              value={values.name}
              onChange={(text) => set({ name: text })}
              required
            />
            <PlaceFields places={places} values={values} onChange={set} />
          </>
        )}
        <TextField
          label={adminWords.healthCheck}
          help={adminWords.healthCheckHelp}
          value={values.healthCheck}
          onChange={(healthCheck) => set({ healthCheck })}
        />
        {(['healthInterval', 'healthTimeout', 'unhealthyThreshold', 'healthyThreshold'] as const).map((key) => (
          <TextField
            key={key}
            label={adminWords.balancerFields[key]}
            value={values[key]}
            onChange={(text) => set({ [key]: text })}
            numeric
          />
        ))}
      </div>
      <h3 class="sub">{adminWords.listeners}</h3>
      <Listeners listeners={values.listeners} onChange={(listeners) => set({ listeners })} />
      <SecurityGroupChoice values={values} onChange={(securityGroups) => set({ securityGroups })} />
      <p class="field">
        <label class="check">
          <input
            type="checkbox"
            checked={values.isInternal}
            onChange={(event) => set({ isInternal: event.currentTarget.checked })}
          />{' '}
          {adminWords.isInternal}
        </label>
      </p>
      {balancer !== undefined && changesOf(start, values).length > 0 && <Difference values={changesOf(start, values)} />}
    </FormDialog>
  )
}

function changesOf(before: BalancerDraft, after: BalancerDraft): readonly ChangedValue[] {
  const names: Readonly<Record<string, string>> = {
    ...adminWords.balancerFields,
    listeners: adminWords.listeners,
    healthCheck: adminWords.healthCheck,
    isInternal: adminWords.isInternal,
    securityGroups: adminWords.securityGroups,
  }
  return (Object.keys(names) as (keyof BalancerDraft)[]).flatMap((key) =>
    isSame(before[key], after[key]) ? [] : [{ name: names[key] ?? key, before: before[key], after: after[key] }],
  )
}

interface ListenersProps {
  readonly listeners: readonly ListenerDraft[]
  readonly onChange: (listeners: readonly ListenerDraft[]) => void
}

function Listeners({ listeners, onChange }: ListenersProps) {
  return (
    <>
      <RecordRows
        records={listeners as readonly unknown[] as readonly Json[]}
        onChange={(records) => onChange(records as readonly unknown[] as readonly ListenerDraft[])}
        label={adminWords.listener}
        removeLabel={adminWords.removeListener}
      >
        {(listener, set) => (
          <>
            <ChoiceField
              label={adminWords.protocol}
              value={textOf(listener['externalProtocol']) ?? ''}
              choices={['HTTP', 'HTTPS', 'TCP']}
              onChange={(value) => set('externalProtocol', value)}
            />
            <TextField
              label={adminWords.port}
              value={textOf(listener['externalPort']) ?? ''}
              onChange={(value) => set('externalPort', value)}
              numeric
              required
            />
            <ChoiceField
              label={adminWords.toInstances}
              value={textOf(listener['internalProtocol']) ?? ''}
              choices={['HTTP', 'TCP']}
              onChange={(value) => set('internalProtocol', value)}
            />
            {listener['externalProtocol'] === 'HTTPS' && (
              <TextField
                label={adminWords.certificate}
                help={adminWords.certificateHelp}
                value={textOf(listener['certificate']) ?? ''}
                onChange={(value) => set('certificate', value)}
                required
              />
            )}
          </>
        )}
      </RecordRows>
      <p>
        <button type="button" class="button small" onClick={() => onChange([...listeners, newListener])}>
          <Icon name="plus" /> {adminWords.addListener}
        </button>
      </p>
    </>
  )
}

interface SecurityGroupChoiceProps {
  readonly values: BalancerDraft
  readonly onChange: (names: readonly string[]) => void
}

/** Those of the account and region; none admits every client. */
function SecurityGroupChoice({ values: { account, region, securityGroups }, onChange }: SecurityGroupChoiceProps) {
  const all = useLive('/securityGroups', { query: {} }, { refresh: 'slow' }).reading.value.body
  const groups = objectsOf(objectOf(objectOf(objectOf(all)[account])['local'])[region])
  const names = [...new Set([...groups.flatMap(({ name }) => textOf(name) ?? []), ...securityGroups])]
  if (names.length === 0) return null
  return (
    <Field label={adminWords.securityGroups} help={adminWords.securityGroupsHelp}>
      {(tied) => (
        <span class="chips" id={tied.id} role="group" aria-label={adminWords.securityGroups}>
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
