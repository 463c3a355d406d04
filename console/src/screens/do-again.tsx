/** The action of a task once more: its dialog, filled with what the task did. */
import type { ComponentType } from 'preact'
import type { Task } from '../api/actions.ts'
import { hasForm, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import type { Action } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { balancerDraftOfJob, securityGroupDraftOfJob } from '../model/infrastructure.ts'
import { type Json, objectOf, textOf, textsOf } from '../model/read.ts'
import { type Instance, instanceId, type ServerGroup } from '../model/server-groups.ts'
import { EditBalancer } from './balancer-dialog.tsx'
import { EditSecurityGroup } from './security-group-dialog.tsx'
import { type ServerGroupContext, useInstanceActions, useServerGroup, useServerGroupActions } from './server-group-actions.tsx'

interface Repeatable {
  readonly application: string
  readonly type: string
  /** Where the server group, load balancer or security group is. */
  readonly place: { readonly account: string; readonly region: string; readonly name: string }
  readonly fields: Json
}

const types: Readonly<Record<string, ComponentType<{ readonly repeatable: Repeatable }>>> = {
  resizeServerGroup: OfServerGroup,
  disableServerGroup: OfServerGroup,
  enableServerGroup: OfServerGroup,
  rollbackServerGroup: OfServerGroup,
  cloneServerGroup: OfServerGroup,
  destroyServerGroup: OfServerGroup,
  rebootInstances: OfServerGroup,
  terminateInstances: OfServerGroup,
  terminateInstanceAndDecrementServerGroup: OfServerGroup,
  upsertLoadBalancer: OfLoadBalancer,
  upsertSecurityGroup: OfSecurityGroup,
}

export function DoAgain({ task }: { task: Task }) {
  const repeatable = toRepeatable(task)
  const Of = repeatable && types[repeatable.type]
  return Of ? <Of repeatable={repeatable} /> : null
}

/** Undefined for tasks of several jobs, and for jobs without a place. */
function toRepeatable({ application, execution }: Task): Repeatable | undefined {
  const jobs = (execution?.stages ?? []).filter(({ parentStageId }) => !parentStageId)
  const type = jobs[0]?.type ?? ''
  const fields = objectOf(jobs[0]?.context)
  const account = textOf(fields['credentials']) ?? textOf(fields['account'])
  const region = textOf(fields['region']) ?? textsOf(fields['regions'])[0]
  const names = ['serverGroupName', 'asgName', 'loadBalancerName', 'securityGroupName', 'name']
  const name = names.map((key) => textOf(fields[key])).find((text) => text !== undefined)
  if (jobs.length !== 1 || !account || !region || !name) return undefined
  return { application, type, place: { account, region, name }, fields }
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

function OfKnownGroup({ group, context, repeatable }: OfKnownGroupProps) {
  const { type, fields } = repeatable
  const actions = useServerGroupActions(group, context, fields)
  const [id] = textsOf(fields['instanceIds'])
  if (id === undefined) return <AgainOne group={group} actions={actions} type={type} />
  const instance = group.instances?.find((one) => instanceId(one) === id)
  if (instance === undefined) return <Again denied={`${id} no longer exists.`} />
  return <OfInstance group={group} context={context} instance={instance} type={type} />
}

type OfInstanceProps = Omit<OfKnownGroupProps, 'repeatable'> & { readonly instance: Instance; readonly type: string }

function OfInstance({ group, context, instance, type }: OfInstanceProps) {
  return <AgainOne group={group} actions={useInstanceActions(group, context, instance)} type={type} />
}

/** Either disabling or enabling is offered at a time. */
function AgainOne({ group, actions, type }: { group: ServerGroup; actions: readonly Action[]; type: string }) {
  const action = actions.find((one) => one.type === type)
  return action === undefined ? (
    <Again denied={`${group.name} is already in the state that this task sets.`} />
  ) : (
    <Again denied={action.denied} onSelect={action.onSelect} />
  )
}

/** One that was deleted meanwhile is created anew. */
function OfLoadBalancer({ repeatable: { application, place, fields } }: { repeatable: Repeatable }) {
  const provider = textOf(fields['cloudProvider']) ?? ''
  const isEdited = hasForm(useCloudProviders(), provider, 'loadBalancer')
  const live = useLive('/loadBalancers/{account}/{region}/{name}', { path: place, query: { provider } }, { refresh: 'open' })
  const right = useRight({ operation: changeOperation, application, account: place.account })
  const { body } = live.reading.value
  if (!isEdited || body === undefined) return null
  const filled = { ...(body.length === 0 && place), ...balancerDraftOfJob(fields) }
  const edit = () => openDialog(<EditBalancer application={application} balancer={body[0]} filled={filled} />)
  return <Again denied={right.reason} onSelect={edit} />
}

function OfSecurityGroup({ repeatable: { application, place, fields } }: { repeatable: Repeatable }) {
  const provider = textOf(fields['cloudProvider']) ?? ''
  const isEdited = hasForm(useCloudProviders(), provider, 'securityGroup')
  const live = useLive('/securityGroups/{account}/{region}/{name}', { path: place, query: { provider } }, { refresh: 'open' })
  const right = useRight({ operation: changeOperation, application, account: place.account })
  const { body, error } = live.reading.value
  const isGone = error?.status === 404
  if (!isEdited || (body === undefined && !isGone)) return null
  const group = isGone ? undefined : body
  const filled = { ...(isGone && place), ...securityGroupDraftOfJob(fields) }
  const edit = () => openDialog(<EditSecurityGroup group={group} place={place} filled={filled} />)
  return <Again denied={right.reason} onSelect={edit} />
}

function Again({ denied, onSelect }: { denied: string | undefined; onSelect?: (() => void) | undefined }) {
  return (
    <Button denied={denied} onClick={() => onSelect?.()}>
      Do again
    </Button>
  )
}
