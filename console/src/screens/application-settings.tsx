/** Settings of an application, a tab for each kind. */
import { useAttributes } from '../api/attributes.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Tabs } from '../components/tabs.tsx'
import type { ScreenProps } from '../screen.ts'

import { AttributesTab } from './application-attributes.tsx'
import { DeleteTab } from './application-deletion.tsx'
import { NotificationsTab } from './application-notifications.tsx'
import { SecretsTab } from './application-secrets.tsx'
import { useKeptEdits } from './settings-form.tsx'

const tabs = [
  { id: 'general', label: 'General' },
  { id: 'permissions', label: 'Permissions' },
  { id: 'guards', label: 'Traffic guards' },
  { id: 'notifications', label: 'Notifications' },
  { id: 'secrets', label: 'Secrets' },
  { id: 'delete', label: 'Delete' },
] as const

export function ApplicationSettings({ params, query }: ScreenProps) {
  const application = params['application'] ?? ''
  const change = useQueryChange()
  const live = useAttributes(application)
  useKeptEdits(application)
  const selected = tabs.find(({ id }) => id === query['tab'])?.id ?? 'general'
  const right = useRight({ operation: changeOperation, application })
  return (
    <>
      <ApplicationHead application={application} tab="Settings" />
      <Loaded
        live={live}
        rows={6}
        empty={<EmptyState icon="search" text={`There is no application ${application}, or you may not read it.`} />}
      >
        {() => (
          <Tabs
            label="Settings"
            tabs={tabs}
            selected={selected}
            onSelect={(id) => change({ tab: id === 'general' ? undefined : id })}
          >
            {selected === 'delete' ? (
              <DeleteTab application={application} right={right} />
            ) : selected === 'notifications' ? (
              <NotificationsTab application={application} right={right} />
            ) : selected === 'secrets' ? (
              <SecretsTab application={application} right={right} />
            ) : (
              <AttributesTab application={application} tab={selected} right={right} />
            )}
          </Tabs>
        )}
      </Loaded>
    </>
  )
}
