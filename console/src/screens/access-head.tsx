/** The head of the screens about the access of the user, with the tabs between them. */
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import { PageHead } from '../components/page-head.tsx'
import { LinkTabs } from '../components/tabs.tsx'

export function AccessHead({ tab, actions }: { tab: string; actions?: ComponentChildren }) {
  return (
    <PageHead tab={`${'Access'}: ${tab}`} title="Access" actions={actions}>
      <LinkTabs
        label="Access"
        tabs={[
          { label: 'Who you are', href: to.access() },
          { label: 'Explain', href: to.access('explain') },
          { label: 'Tokens', href: to.access('tokens') },
          { label: 'Logins', href: to.access('logins') },
        ]}
      />
    </PageHead>
  )
}
