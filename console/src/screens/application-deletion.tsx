/** The end of an application. */

import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import type { Right } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { Loaded } from '../components/states.tsx'
import { accountOf, groupPlace, type ServerGroup } from '../model/server-groups.ts'
import { plural } from '../words.ts'

/** Refused while something is deployed, as the engine would refuse it. */
export function DeleteTab({ application, right }: { application: string; right: Right }) {
  const { route: navigate } = useLocation()
  const groups = useLive(
    '/applications/{applicationName}/serverGroups',
    { path: { applicationName: application } },
    { refresh: 'steady', events: applicationEvents(application, 'infrastructure') },
  )
  const pipelines = useLive(
    '/applications/{application}/pipelineConfigs',
    { path: { application } },
    { refresh: 'steady', events: applicationEvents(application, 'definitions') },
  )
  const count = pipelines.reading.value.body?.length ?? 0
  const remove = () => confirmDeletion(application, count, () => navigate(to.applications()))
  const button = <DeleteButton application={application} count={count} right={right} onClick={remove} />
  return (
    <Panel title="Delete">
      <Loaded live={groups} rows={2} empty={button}>
        {(deployed) => (deployed.length === 0 ? button : <Deployed application={application} groups={deployed} />)}
      </Loaded>
    </Panel>
  )
}

function confirmDeletion(application: string, pipelines: number, onDeleted: () => void): void {
  confirm({
    title: `Delete ${application}?`,
    effect: (
      <p>
        {`Removes ${application}, its ${plural(pipelines, 'pipeline')} and its permissions. Executions stay until they expire.`}{' '}
        {'This cannot be undone.'}
      </p>
    ),
    action: `Delete ${application}`,
    level: 2,
    typed: application,
    destructive: true,
    run: async (isOpen) => {
      await completeTask({
        application,
        description: `Delete ${application}`,
        job: [{ type: 'deleteApplication', application: { name: application } }],
        object: objectKey('application', application),
      })
      refreshMatching('/applications')
      if (isOpen()) onDeleted()
    },
  })
}

/** What stands in the way. */
function Deployed({ application, groups }: { application: string; groups: readonly ServerGroup[] }) {
  return (
    <>
      <p>{`${application} cannot be deleted while something is deployed:`}</p>
      <ul class="bullets">
        {groups.map((group) => (
          <li key={Object.values(groupPlace(group)).join(' ')}>
            <NameLink href={to.serverGroup(application, groupPlace(group))} text={group.name} max={60} />{' '}
            <span class="muted">{`${accountOf(group)} / ${group.region}`}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

interface DeleteButtonProps {
  readonly application: string
  readonly count: number
  readonly right: Right
  readonly onClick: () => void
}

function DeleteButton({ application, count, right, onClick }: DeleteButtonProps) {
  return (
    <>
      <p>{`Removes ${application}, its ${plural(count, 'pipeline')} and its permissions. Executions stay until they expire.`}</p>
      <div class="foot">
        <Button kind="destructive" icon="trash" denied={right.reason} onClick={onClick}>
          {`Delete ${application}`}
        </Button>
        {right.reason !== undefined && <span class="muted">{right.reason}</span>}
      </div>
    </>
  )
}
