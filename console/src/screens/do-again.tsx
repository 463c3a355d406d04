/** The action of a task once more: its dialog, filled with what the task did. */
import type { Task } from '../api/actions.ts'
import { hasForm, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { Button } from '../components/button.tsx'
import { type Json, objectOf, textOf, textsOf } from '../model/read.ts'
import { instanceId, type ServerGroup } from '../model/server-groups.ts'
import { accountOf } from '../model/stage-output.ts'
import { editPlace } from './place-forms.tsx'
import { type ServerGroupContext, useInstanceActions, useServerGroup, useServerGroupActions } from './server-group-actions.tsx'

const groupJobs = [
  ...['resizeServerGroup', 'disableServerGroup', 'enableServerGroup', 'rollbackServerGroup', 'cloneServerGroup'],
  ...['destroyServerGroup', 'rebootInstances', 'terminateInstances', 'terminateInstanceAndDecrementServerGroup'],
]
const names = ['serverGroupName', 'asgName', 'loadBalancerName', 'securityGroupName', 'name']

interface Repeatable {
  readonly application: string
  readonly type: string
  /** Where the server group, load balancer or security group is. */
  readonly place: { readonly account: string; readonly region: string; readonly name: string }
  readonly fields: Json
}

/** Nothing for tasks of several jobs, and for jobs without a place. */
export function DoAgain({ task: { application, execution } }: { task: Task }) {
  const [job, another] = (execution?.stages ?? []).filter(({ parentStageId }) => !parentStageId)
  const fields = objectOf(job?.context)
  const account = accountOf(fields)
  const region = textOf(fields['region']) ?? textsOf(fields['regions'])[0]
  const name = names.map((key) => textOf(fields[key])).find((text) => text !== undefined)
  if (job === undefined || another !== undefined || !account || !region || !name) return null
  const repeatable = { application, type: job.type, place: { account, region, name }, fields }
  if (groupJobs.includes(job.type)) return <OfServerGroup repeatable={repeatable} />
  return ['upsertLoadBalancer', 'upsertSecurityGroup'].includes(job.type) ? <OfPlace repeatable={repeatable} /> : null
}

function OfServerGroup({ repeatable }: { repeatable: Repeatable }) {
  const { live, context } = useServerGroup(repeatable.application, repeatable.place)
  const { body: group, error } = live.reading.value
  if (error?.status === 404) return <Again denied={`${repeatable.place.name} no longer exists.`} />
  return group === undefined ? null : <OfKnownGroup group={group} context={context} repeatable={repeatable} />
}

interface OfKnownGroupProps {
  readonly group: ServerGroup
  readonly context: ServerGroupContext
  readonly repeatable: Repeatable
}

function OfKnownGroup({ group, context, repeatable: { type, fields } }: OfKnownGroupProps) {
  const [id] = textsOf(fields['instanceIds'])
  const instance = group.instances?.find((one) => instanceId(one) === id)
  const ofGroup = useServerGroupActions(group, context, fields)
  const ofInstance = useInstanceActions(group, context, instance ?? { name: '' })
  if (id !== undefined && instance === undefined) return <Again denied={`${id} no longer exists.`} />
  const action = (id === undefined ? ofGroup : ofInstance).find((one) => one.type === type)
  // Either disabling or enabling is offered at a time.
  const denied = action === undefined ? `${group.name} is already in the state that this task sets.` : action.denied
  return <Again denied={denied} onSelect={action?.onSelect} />
}

/** A load balancer or security group; one that was deleted meanwhile is created anew. */
function OfPlace({ repeatable: { application, type, place, fields } }: { repeatable: Repeatable }) {
  const isBalancer = type === 'upsertLoadBalancer'
  const form = isBalancer ? 'loadBalancer' : 'securityGroup'
  const provider = textOf(fields['cloudProvider']) ?? ''
  const isEdited = hasForm(useCloudProviders(), provider, form)
  const parameters = { path: place, query: { provider } }
  const balancers = useLive('/loadBalancers/{account}/{region}/{name}', isBalancer ? parameters : undefined, { refresh: 'open' })
  const groups = useLive('/securityGroups/{account}/{region}/{name}', isBalancer ? undefined : parameters, { refresh: 'open' })
  const right = useRight({ operation: changeOperation, application, account: place.account })
  const { body: found } = balancers.reading.value
  const { body: group, error } = groups.reading.value
  const isGone = found?.length === 0 || error?.status === 404
  const known = isBalancer ? found?.[0] : group && { ...group, ...place }
  if (!isEdited || (known === undefined && !isGone)) return null
  const stored = isGone ? undefined : known
  const edit = () => editPlace(form, { application, stored, filled: { ...fields, ...place } })
  return <Again denied={right.reason} onSelect={edit} />
}

function Again({ denied, onSelect }: { denied: string | undefined; onSelect?: (() => void) | undefined }) {
  return (
    <Button denied={denied} onClick={() => onSelect?.()}>
      Do again
    </Button>
  )
}
