/** The action of a task once more: its dialog, filled with what the task did. */

import { type JsonObject, objectOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Task } from '../api/actions.ts'
import { hasForm, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useDenial } from '../api/rights.ts'
import { Button } from '../components/button.tsx'
import { instanceId, type ServerGroup } from '../model/server-groups.ts'
import { placeOf } from '../model/stage-output.ts'
import { editPlace } from './place-forms.tsx'
import {
  type ServerGroupContext,
  useInstanceActions,
  useServerGroup,
  useServerGroupActions,
} from './server-group-actions.tsx'

const groupJobs = [
  ...[
    'resizeServerGroup',
    'disableServerGroup',
    'enableServerGroup',
    'rollbackServerGroup',
    'cloneServerGroup',
  ],
  ...[
    'destroyServerGroup',
    'rebootInstances',
    'terminateInstances',
    'terminateInstanceAndDecrementServerGroup',
  ],
]
const names = ['serverGroupName', 'asgName', 'loadBalancerName', 'securityGroupName', 'name']

interface JobProps {
  readonly application: string
  readonly type: string
  /** Where the server group, load balancer or security group is. */
  readonly place: { readonly account: string; readonly region: string; readonly name: string }
  readonly fields: JsonObject
}

/** Nothing for tasks of several jobs, and for jobs without a place. */
export function DoAgain({ task: { application, execution } }: { task: Task }) {
  const [job, another] = (execution?.stages ?? []).filter(({ parentStageId }) => !parentStageId)
  const fields = objectOf(job?.context)
  const at = placeOf(fields)
  const name = names.map((key) => scalarOf(fields[key])).find((text) => text !== undefined)
  if (job === undefined || another !== undefined || at === undefined || name === undefined)
    return null
  const props = { application, type: job.type, place: { ...at, name }, fields }
  if (groupJobs.includes(job.type)) return <OfServerGroup {...props} />
  return ['upsertLoadBalancer', 'upsertSecurityGroup'].includes(job.type) ? (
    <OfPlace {...props} />
  ) : null
}

function OfServerGroup(props: JobProps) {
  const { live, context } = useServerGroup(props.application, props.place)
  const { body: group, error } = live
  if (error?.status === 404) return <Again denied={`${props.place.name} no longer exists.`} />
  return group === undefined ? null : <OfKnownGroup group={group} context={context} {...props} />
}

function OfKnownGroup({
  group,
  context,
  type,
  fields,
}: JobProps & { group: ServerGroup; context: ServerGroupContext }) {
  const [id] = textsOf(fields['instanceIds'])
  const instance = group.instances?.find((one) => instanceId(one) === id)
  const ofGroup = useServerGroupActions(group, context, fields)
  const ofInstance = useInstanceActions(group, context, instance ?? { name: '' })
  if (id !== undefined && instance === undefined)
    return <Again denied={`${id} no longer exists.`} />
  const action = (id === undefined ? ofGroup : ofInstance).find((one) => one.type === type)
  // Either disabling or enabling is offered at a time.
  const denied =
    action === undefined
      ? `${group.name} is already in the state that this task sets.`
      : action.denied
  return <Again denied={denied} onSelect={action?.onSelect} />
}

/** A load balancer or security group; one that was deleted meanwhile is created anew. */
function OfPlace({ application, type, place, fields }: JobProps) {
  const isBalancer = type === 'upsertLoadBalancer'
  const form = isBalancer ? 'loadBalancer' : 'securityGroup'
  const provider = scalarOf(fields['cloudProvider']) ?? ''
  const isEdited = hasForm(useCloudProviders(), provider, form)
  const parameters = { path: place, query: { provider } }
  const balancers = useLive(
    '/loadBalancers/{account}/{region}/{name}',
    isBalancer ? parameters : undefined,
    'open',
  )
  const groups = useLive(
    '/securityGroups/{account}/{region}/{name}',
    isBalancer ? undefined : parameters,
    'open',
  )
  const denied = useDenial(changeOperation, application, place.account)
  const { body: found } = balancers
  const { body: group, error } = groups
  const isGone = found?.length === 0 || error?.status === 404
  const known = isBalancer ? found?.[0] : group && { ...group, ...place }
  if (!isEdited || (known === undefined && !isGone)) return null
  const stored = isGone ? undefined : known
  const edit = () => editPlace(form, { application, stored, filled: { ...fields, ...place } })
  return <Again denied={denied} onSelect={edit} />
}

function Again(action: { denied: string | undefined; onSelect?: () => void }) {
  return (
    <Button denied={action.denied} onClick={() => action.onSelect?.()}>
      Do again
    </Button>
  )
}
