/** The action of a task once more: its dialog, filled with what the task did. */
import type { Task } from '../api/actions.ts'
import { RightButton } from '../components/right-button.tsx'
import { type Json, objectOf, textOf, textsOf } from '../model/read.ts'
import type { ServerGroup } from '../model/server-groups.ts'
import { words } from '../words.ts'
import { type ServerGroupContext, type ServerGroupPlace, useServerGroup, useServerGroupActions } from './server-group-actions.tsx'

interface Repeatable {
  readonly type: string
  readonly place: ServerGroupPlace
  readonly fields: Json
}

const types = new Set([
  'resizeServerGroup',
  'disableServerGroup',
  'enableServerGroup',
  'rollbackServerGroup',
  'cloneServerGroup',
  'destroyServerGroup',
])

export function DoAgain({ task }: { task: Task }) {
  const repeatable = toRepeatable(task)
  return repeatable && <OfServerGroup application={task.application} repeatable={repeatable} />
}

/** Undefined for tasks of several jobs, and for jobs without a dialog that could be filled. */
function toRepeatable({ execution }: Task): Repeatable | undefined {
  const jobs = (execution?.stages ?? []).filter(({ parentStageId }) => !parentStageId)
  const type = jobs[0]?.type ?? ''
  const fields = objectOf(jobs[0]?.context)
  const account = textOf(fields['credentials']) ?? textOf(fields['account'])
  const region = textOf(fields['region']) ?? textsOf(fields['regions'])[0]
  const name = textOf(fields['serverGroupName']) ?? textOf(fields['asgName'])
  if (jobs.length !== 1 || !types.has(type) || !account || !region || !name) return undefined
  return { type, place: { account, region, name }, fields }
}

function OfServerGroup({ application, repeatable }: { application: string; repeatable: Repeatable }) {
  const { live, context } = useServerGroup(application, repeatable.place)
  const { body: group, error } = live.reading.value
  if (error?.status === 404) return <Again denied={words.againGone(repeatable.place.name)} />
  return group === undefined ? null : <OfKnownGroup group={group} context={context} repeatable={repeatable} />
}

interface OfKnownGroupProps {
  readonly group: ServerGroup
  readonly context: ServerGroupContext
  readonly repeatable: Repeatable
}

function OfKnownGroup({ group, context, repeatable: { type, fields } }: OfKnownGroupProps) {
  const action = useServerGroupActions(group, context, fields).find(({ job }) => job === type)
  // Of disabling and enabling, one is offered at a time.
  return <Again denied={action === undefined ? words.againNeedless(group.name) : action.denied} onSelect={action?.onSelect} />
}

function Again({ denied, onSelect }: { denied: string | undefined; onSelect?: (() => void) | undefined }) {
  return (
    <RightButton right={{ allowed: denied === undefined, reason: denied }} onClick={() => onSelect?.()}>
      {words.doAgain}
    </RightButton>
  )
}
