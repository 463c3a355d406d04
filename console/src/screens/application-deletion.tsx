/** The end of an application. */
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import type { Right } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { confirm } from '../components/confirm-dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { RightButton } from '../components/right-button.tsx'
import { Loaded } from '../components/states.tsx'
import { accountOf } from '../model/server-groups.ts'
import { settingsWords } from '../settings-words.ts'

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
  const remove = () =>
    confirm({
      title: settingsWords.deleteTitle(application),
      effect: (
        <p>
          {settingsWords.deleteLead(application, count)} {settingsWords.deleteFinal}
        </p>
      ),
      action: settingsWords.deleteApplication(application),
      level: 2,
      typed: application,
      destructive: true,
      run: async (isOpen) => {
        await completeTask({
          application,
          description: settingsWords.deleteApplication(application),
          job: [{ type: 'deleteApplication', application: { name: application } }],
          object: objectKey('application', application),
        })
        refreshMatching('/applications')
        if (isOpen()) navigate(to.applications())
      },
    })
  return (
    <Panel title={settingsWords.delete}>
      <Loaded live={groups} rows={2} empty={<DeleteButton {...{ application, count, right, remove }} />}>
        {(deployed) =>
          deployed.length === 0 ? (
            <DeleteButton {...{ application, count, right, remove }} />
          ) : (
            <>
              <p>{settingsWords.deleteRefused(application)}</p>
              <ul class="bullets">
                {deployed.map((group) => (
                  <li key={`${accountOf(group)} ${group.region} ${group.name}`}>
                    <a href={to.serverGroup(application, { account: accountOf(group), region: group.region, name: group.name })}>
                      <Name text={group.name} max={60} />
                    </a>{' '}
                    <span class="muted">{`${accountOf(group)} / ${group.region}`}</span>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Loaded>
    </Panel>
  )
}

interface DeleteButtonProps {
  readonly application: string
  readonly count: number
  readonly right: Right
  readonly remove: () => void
}

function DeleteButton({ application, count, right, remove }: DeleteButtonProps) {
  return (
    <>
      <p>{settingsWords.deleteLead(application, count)}</p>
      <div class="foot">
        <RightButton right={right} class="is-destructive" onClick={remove}>
          <Icon name="trash" /> {settingsWords.deleteApplication(application)}
        </RightButton>
        {right.reason !== undefined && <span class="muted">{right.reason}</span>}
      </div>
    </>
  )
}
