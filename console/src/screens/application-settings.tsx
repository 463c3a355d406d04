/** Settings of an application, a tab for each kind. */
import { useAttributes } from '../api/attributes.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Tabs } from '../components/tabs.tsx'
import type { ScreenProps } from '../screen.ts'
import { GeneralTab, GuardsTab, PermissionsTab } from './application-attributes.tsx'
import { DeleteTab } from './application-deletion.tsx'
import { NotificationsTab } from './application-notifications.tsx'
import { SecretsTab } from './application-secrets.tsx'
import { useKeptEdits } from './settings-form.tsx'

const general = { id: 'general', label: 'General', Tab: GeneralTab }
const tabs = [
  general,
  { id: 'permissions', label: 'Permissions', Tab: PermissionsTab },
  { id: 'guards', label: 'Traffic guards', Tab: GuardsTab },
  { id: 'notifications', label: 'Notifications', Tab: NotificationsTab },
  { id: 'secrets', label: 'Secrets', Tab: SecretsTab },
  { id: 'delete', label: 'Delete', Tab: DeleteTab },
]

export function ApplicationSettings({ params: { application = '' }, query }: ScreenProps) {
  const change = useQueryChange()
  const live = useAttributes(application)
  useKeptEdits(application)
  const { id: selected, Tab } = tabs.find(({ id }) => id === query['tab']) ?? general
  const denied = useRight({ operation: changeOperation, application }).reason
  return (
    <>
      <ApplicationHead application={application} tab="Settings" />
      <Loaded
        live={live}
        rows={6}
        empty={<EmptyState icon="search" text={`There is no application ${application}, or you may not read it.`} />}
      >
        {() => (
          <Tabs label="Settings" tabs={tabs} selected={selected} onSelect={(tab) => change({ tab })}>
            <Tab application={application} denied={denied} />
          </Tabs>
        )}
      </Loaded>
    </>
  )
}
