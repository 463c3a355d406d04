/** The end of an application; refused while something is deployed, as the engine would refuse it. */
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { Loaded } from '../components/states.tsx'
import { accountOf, groupPlace } from '../model/server-groups.ts'
import { plural } from '../words.ts'
import type { SettingsTabProps } from './settings-form.tsx'

export function DeleteTab({ application, denied }: SettingsTabProps) {
  const groups = useLive(
    '/applications/{applicationName}/serverGroups',
    { path: { applicationName: application } },
    { events: applicationEvents(application, 'infrastructure') },
  )
  const pipelines = useLive('/applications/{application}/pipelineConfigs', { path: { application } })
  const count = pipelines.reading.value.body?.length
  return (
    <Panel title="Delete">
      <Loaded live={groups} rows={2} empty={<Deletion application={application} denied={denied} pipelines={count} />}>
        {(deployed) => (
          <>
            <p>{`${application} cannot be deleted while something is deployed:`}</p>
            <ul class="bullets">
              {deployed.map((group) => (
                <li key={Object.values(groupPlace(group)).join(' ')}>
                  <NameLink href={to.serverGroup(application, groupPlace(group))} text={group.name} max={60} />{' '}
                  <span class="muted">{`${accountOf(group)} / ${group.region}`}</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </Panel>
  )
}

interface DeletionProps extends SettingsTabProps {
  /** Undefined while unknown. */
  readonly pipelines: number | undefined
}

function Deletion({ application, denied, pipelines }: DeletionProps) {
  const { route: navigate } = useLocation()
  const count = pipelines === undefined ? 'pipelines' : plural(pipelines, 'pipeline')
  const effect = `Removes ${application}, its ${count} and its permissions. Executions stay until they expire.`
  const remove = () =>
    confirm({
      title: `Delete ${application}?`,
      effect: `${effect} This cannot be undone.`,
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
        if (isOpen()) navigate(to.applications())
      },
      refreshes: '/applications',
    })
  return (
    <>
      <p>{effect}</p>
      <div class="foot">
        <Button kind="destructive" icon="trash" denied={denied} onClick={remove}>
          {`Delete ${application}`}
        </Button>
        <span class="muted">{denied}</span>
      </div>
    </>
  )
}
