/** The forms that create or change a load balancer or a security group, and the menu of one. */

import {
  type JsonObject,
  objectOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { useState } from 'preact/hooks'
import { type Change, completeTask, objectKey } from '../api/actions.ts'
import {
  type CloudProvider,
  hasForm,
  providerOf,
  regionsOf,
  useAccounts,
  useCloudProvider,
  useCloudProviders,
} from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useDenial } from '../api/rights.ts'
import { useActions } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Difference } from '../components/difference.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import {
  CheckList,
  decimal,
  Fields,
  type FieldTable,
  RecordRows,
} from '../components/form-fields.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/text.tsx'
import { isSame } from '../model/edits.ts'
import {
  applicationOf,
  newListener,
  newRule,
  type Place,
  toBalancerDraft,
  toBalancerJob,
  toSecurityGroupDraft,
  toSecurityGroupJob,
} from '../model/infrastructure.ts'
import { capital } from '../words.ts'

type Draft = JsonObject & Omit<Place, 'provider'>

interface Form {
  readonly noun: string
  readonly fields: FieldTable
  /** The list in its draft, each record of which has fields of its own. */
  readonly records: string
  readonly added: JsonObject
  /** Text when there are no records. */
  readonly none?: string
  recordFields(record: JsonObject, help: CloudProvider['help'] | undefined): FieldTable
  toDraft(record: JsonObject): Draft
  toJob(draft: Draft, provider: string): Change['job'][number]
}

const forms = {
  loadBalancer: {
    noun: 'load balancer',
    fields: {
      healthCheck: { label: 'Health check', help: 'HTTP:/health, or TCP.' },
      healthInterval: { label: 'Check every, in seconds', input: decimal },
      healthTimeout: { label: 'Timeout, in seconds', input: decimal },
      unhealthyThreshold: { label: 'Failed checks until down', input: decimal },
      healthyThreshold: { label: 'Good checks until up', input: decimal },
      isInternal: { label: 'Internal: only this machine connects' },
    },
    records: 'listeners',
    added: newListener,
    recordFields: ({ externalProtocol }, help) => ({
      externalProtocol: { label: 'Protocol', choices: ['HTTP', 'HTTPS', 'TCP'] },
      externalPort: { label: 'Port', required: true, input: decimal },
      internalProtocol: { label: 'To instances by', choices: ['HTTP', 'TCP'] },
      ...(externalProtocol === 'HTTPS' && {
        certificate: { label: 'Certificate', required: true, help: help?.['certificate'] },
      }),
    }),
    toDraft: toBalancerDraft,
    toJob: toBalancerJob,
  },
  securityGroup: {
    noun: 'security group',
    fields: { description: { label: 'Description', required: true } },
    records: 'rules',
    added: newRule,
    none: 'No rule: nothing is accepted.',
    recordFields: ({ kind }) => ({
      kind: { label: 'Kind of source', choices: ['network', 'security group'] },
      source: {
        label: 'From',
        required: true,
        help: kind === 'network' ? 'Such as 10.0.0.0/8.' : undefined,
      },
      protocol: { label: 'Protocol', choices: ['tcp', 'udp'] },
      startPort: { label: 'From port', help: 'Empty: all ports.', input: decimal },
      endPort: { label: 'To port', input: decimal },
    }),
    toDraft: toSecurityGroupDraft,
    toJob: toSecurityGroupJob,
  },
} as const satisfies Record<string, Form>

type PlaceForm = keyof typeof forms

interface EditProps {
  /** First part of a new name that leaves it open. */
  readonly application: string | undefined
  /** What is changed; undefined creates one. */
  readonly stored?: JsonObject
  /** Fields of an earlier job, which the form has at first. */
  readonly filled?: JsonObject
}

export function editPlace(form: PlaceForm, edited: EditProps): void {
  openDialog(<EditPlace form={form} {...edited} />)
}

export function CreatePlace({
  form,
  application,
}: {
  form: PlaceForm
  application: string | undefined
}) {
  const reason = useDenial(changeOperation, application)
  const providers = useCloudProviders()
  const { noun } = forms[form]
  const isOffered =
    providers.length === 0 || providers.some((provider) => provider.forms.includes(form))
  const none = `No account here takes a ${noun} from a form. Deploy a manifest instead.`
  return (
    <Button
      icon="plus"
      denied={reason ?? (isOffered ? undefined : none)}
      onClick={() => editPlace(form, { application })}
    >
      Create {noun}
    </Button>
  )
}

interface PlaceMenuProps {
  readonly form: PlaceForm
  readonly application: string
  readonly place: Place
  /** Value that its form reads. */
  readonly stored: JsonObject
  /** What happens when it is deleted, and why it may not be. */
  readonly effect: string
  readonly denied?: string
}

export function PlaceMenu({ form, application, place, stored, effect, denied }: PlaceMenuProps) {
  const { provider, account, region, name } = place
  const isEdited = hasForm(useCloudProviders(), provider, form)
  const target = {
    application,
    account,
    name,
    object: objectKey(form, account, region, name),
    facts: Object.entries({ Account: account, Region: region }),
    place: {
      cloudProvider: provider,
      credentials: account,
      [`${form}Name`]: name,
      region,
      regions: [region],
    },
  }
  const actions = useActions(target, [
    {
      label: 'Edit',
      icon: 'resize',
      onSelect: () => editPlace(form, { application, stored }),
      denied: isEdited
        ? undefined
        : 'There is no form for this provider: edit it where it comes from.',
    },
    {
      type: `delete${capital(form)}`,
      label: 'Delete',
      icon: 'trash',
      destructive: true,
      list: `/${form}s`,
      denied,
      effect: `${effect} This cannot be undone.`,
    },
  ])
  return <Menu label={`Actions of ${name}`} items={actions} />
}

function EditPlace({
  form,
  application,
  stored,
  filled,
}: EditProps & { readonly form: PlaceForm }) {
  const { noun, fields, records, toDraft, toJob }: Form = forms[form]
  const { placeFields, first, regionsIn, providerIn } = usePlaces(form)
  const [edits, setEdits] = useState<JsonObject>({})
  const from = stored ?? { ...first, name: application && `${application}-` }
  const start = toDraft(from)
  const values = { ...toDraft({ ...from, ...filled }), ...edits }
  const name = values.name.trim()
  const owner = application ?? applicationOf(name)
  const provider =
    scalarOf(stored?.['cloudProvider']) ??
    scalarOf(stored?.['type']) ??
    providerIn(values.account) ??
    ''
  const set = (key: string, value: unknown) =>
    setEdits({
      ...edits,
      [key]: value,
      ...(key === 'account' && { region: regionsIn(value)[0] ?? '' }),
    })
  const changes = Object.entries({
    ...fields,
    [records]: { label: capital(records) },
    securityGroups: { label: 'Security groups' },
  })
    .map(([key, { label }]) => ({ name: label, before: start[key], after: values[key] }))
    .filter(({ before, after }) => stored !== undefined && !isSame(before, after))
  const save = () => {
    const object = objectKey(form, values.account, values.region, name)
    return completeTask({
      application: owner,
      description: `Save ${name}`,
      job: [toJob(values, provider)],
      object,
    })
  }
  const [title, action] =
    stored === undefined ? [`Create ${noun}`, `Create ${noun}`] : [`Edit ${name}`, `Save ${name}`]
  const shown = stored === undefined ? { ...placeFields(values.account), ...fields } : fields
  return (
    <FormDialog
      title={title}
      action={action}
      refreshes={`/${form}s`}
      run={save}
      isReady={stored === undefined ? owner !== '' : changes.length > 0}
      wide
    >
      <div class="question">
        <Fields fields={shown} values={values} onChange={set} />
      </div>
      <Records form={forms[form]} provider={provider} values={values} set={set} />
      {form === 'loadBalancer' && (
        <SecurityGroupChoice provider={provider} values={values} set={set} />
      )}
      {changes.length > 0 && <Difference values={changes} />}
    </FormDialog>
  )
}

/** Accounts that take the form, and where they are. */
function usePlaces(form: PlaceForm) {
  const accounts = useAccounts().body ?? []
  const providers = useCloudProviders()
  const places = accounts.filter(
    (account) => account.authorized && hasForm(providers, providerOf(account), form),
  )
  const regionsIn = (name: unknown) => places.filter((one) => one.name === name).flatMap(regionsOf)
  const account = places[0]?.name
  const placeFields = (chosen: string): FieldTable => ({
    name: {
      label: 'Name',
      required: true,
      help: 'Begins with the application, such as web-front.',
    },
    account: {
      label: 'Account',
      choices: places.map((one) => one.name),
      help: places.length === 0 ? 'No account with such a form that you may change.' : undefined,
    },
    region: { label: 'Region', choices: regionsIn(chosen) },
  })
  const providerIn = (name: string) => places.filter((one) => one.name === name).map(providerOf)[0]
  return { placeFields, first: { account, region: regionsIn(account)[0] }, regionsIn, providerIn }
}

interface PartProps {
  readonly provider: string
  readonly values: Draft
  readonly set: (key: string, value: unknown) => void
}

function Records({ form, provider, values, set }: PartProps & { readonly form: Form }) {
  const { records, recordFields, none, added } = form
  const help = useCloudProvider(provider)?.help
  const rows = objectsOf(values[records])
  return (
    <>
      <h3 class="sub">{capital(records)}</h3>
      {rows.length === 0 && <p class="muted">{none}</p>}
      <RecordRows
        noun={records.slice(0, -1)}
        records={rows}
        added={added}
        onChange={(changed) => set(records, changed)}
      >
        {(record, change) => (
          <Fields
            fields={recordFields(record, help)}
            values={record}
            onChange={(key, value) => change({ [key]: value })}
          />
        )}
      </RecordRows>
    </>
  )
}

/** Security groups of the account and region; none admits every client. */
function SecurityGroupChoice({ provider, values, set }: PartProps) {
  const all = useLive('/securityGroups', { query: {} }, 'slow').body
  const groups = objectsOf(
    objectOf(objectOf(objectOf(all)[values.account])[provider])[values.region],
  )
  const chosen = textsOf(values['securityGroups'])
  const names = [...new Set([...groups.flatMap(({ name }) => scalarOf(name) ?? []), ...chosen])]
  if (names.length === 0) return null
  return (
    <CheckList
      label="Security groups"
      head="Security groups: none admits every client"
      choices={names.map((name) => ({ id: name, label: <Name text={name} max={60} /> }))}
      chosen={chosen}
      onChange={(changed) => set('securityGroups', changed)}
    />
  )
}
