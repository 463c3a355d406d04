/** The dialog that creates or changes a load balancer or a security group, and the button that opens it. */
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type Change, completeTask, objectKey } from '../api/actions.ts'
import { hasForm, useCloudProviders } from '../api/cloud-providers.ts'
import { refreshMatching } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Difference } from '../components/difference.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { ChoiceField, TextField } from '../components/form-fields.tsx'
import { isSame } from '../model/edits.ts'
import { applicationOf } from '../model/infrastructure.ts'
import { type Json, textOf } from '../model/read.ts'
import { providerOf, regionsOf, useAccounts } from './infrastructure-head.tsx'

const nouns = { loadBalancer: 'load balancer', securityGroup: 'security group' } as const
type PlaceForm = keyof typeof nouns

export const notEdited = 'There is no form for this provider: edit it where it comes from.'

interface CreatePlaceProps {
  readonly form: PlaceForm
  readonly application: string | undefined
  readonly dialog: VNode
}

export function CreatePlace({ form, application, dialog }: CreatePlaceProps) {
  const { reason } = useRight(application === undefined ? undefined : { operation: changeOperation, application })
  const providers = useCloudProviders()
  const isOffered = providers.length === 0 || providers.some(({ forms }) => forms.includes(form))
  const none = `No account here takes a ${nouns[form]} from a form. Deploy a manifest instead.`
  return (
    <Button icon="plus" denied={reason ?? (isOffered ? undefined : none)} onClick={() => openDialog(dialog)}>
      Create {nouns[form]}
    </Button>
  )
}

interface Draft {
  readonly name: string
  readonly account: string
  readonly region: string
}

interface PlaceDialogProps<Values extends Draft> {
  readonly form: PlaceForm
  /** Of a new one whose name leaves it open, the first part of the name. */
  readonly application?: string | undefined
  /** What is changed; undefined creates one. */
  readonly stored: Json | undefined
  /** Fields of an earlier job, which the form has at first. */
  readonly filled?: Json | undefined
  readonly toDraft: (record: Json) => Values
  readonly toJob: (draft: Values, provider: string) => Change['job'][number]
  /** Of the fields that a review shows. */
  readonly labels: Partial<Record<keyof Values & string, string>>
  readonly children: (values: Values, set: (change: Partial<Values>) => void, provider: string) => ComponentChildren
}

export function PlaceDialog<Values extends Draft>(props: PlaceDialogProps<Values>) {
  const { form, application, stored, filled, toDraft, toJob, labels, children } = props
  const accounts = useAccounts().reading.value.body ?? []
  const providers = useCloudProviders()
  const places = accounts.filter((account) => account.authorized && hasForm(providers, providerOf(account), form))
  const [draft, setDraft] = useState<Partial<Values>>({})
  const fresh = { account: places[0]?.name, region: places[0] && regionsOf(places[0])[0], name: application && `${application}-` }
  const start = toDraft(stored ?? fresh)
  const values = { ...toDraft({ ...(stored ?? fresh), ...filled }), ...draft }
  const set = (change: Partial<Values>) => setDraft({ ...draft, ...change })
  const name = values.name.trim()
  const owner = application ?? applicationOf(name)
  const place = places.find((account) => account.name === values.account)
  const provider = textOf(stored?.['cloudProvider']) ?? textOf(stored?.['type']) ?? (place && providerOf(place)) ?? ''
  const changes = Object.entries<string | undefined>(labels).flatMap(([key, label = key]) => {
    const [before, after] = [start[key as keyof Values], values[key as keyof Values]]
    return stored === undefined || isSame(before, after) ? [] : [{ name: label, before, after }]
  })
  const save = async () => {
    const object = objectKey(form, values.account, values.region, name)
    await completeTask({ application: owner, description: `Save ${name}`, job: [toJob(values, provider)], object })
    refreshMatching(`/${form}s`)
    return undefined
  }
  const create = `Create ${nouns[form]}`
  return (
    <FormDialog
      title={stored === undefined ? create : `Edit ${name}`}
      action={stored === undefined ? create : `Save ${name}`}
      isReady={stored === undefined ? owner !== '' : changes.length > 0}
      run={save}
      wide
    >
      {stored === undefined && (
        <div class="question">
          <TextField
            label="Name"
            help="Begins with the application, such as web-front."
            value={values.name}
            onChange={(text) => set({ name: text } as Partial<Values>)}
            required
          />
          <ChoiceField
            label="Account"
            value={values.account}
            choices={places.map((account) => account.name)}
            help={places.length === 0 ? 'No account with such a form that you may change.' : undefined}
            onChange={(account) => {
              const chosen = places.find((one) => one.name === account)
              set({ account, region: (chosen && regionsOf(chosen)[0]) ?? '' } as Partial<Values>)
            }}
          />
          <ChoiceField
            label="Region"
            value={values.region}
            choices={place === undefined ? [] : regionsOf(place)}
            onChange={(region) => set({ region } as Partial<Values>)}
          />
        </div>
      )}
      {children(values, set, provider)}
      {changes.length > 0 && <Difference values={changes} />}
    </FormDialog>
  )
}
