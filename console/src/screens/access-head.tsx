/** The head of the screens about the access of the user, with the tabs between them. */
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import { adminWords } from '../admin-words.ts'
import { PageHead } from '../components/page-head.tsx'
import { LinkTabs } from '../components/tabs.tsx'

export function AccessHead({ tab, actions }: { tab: string; actions?: ComponentChildren }) {
  return (
    <PageHead tab={`${adminWords.access}: ${tab}`} title={adminWords.access} actions={actions}>
      <LinkTabs
        label={adminWords.access}
        tabs={[
          { label: adminWords.whoAmI, href: to.access() },
          { label: adminWords.explain, href: to.access('explain') },
          { label: adminWords.tokens, href: to.access('tokens') },
          { label: adminWords.logins, href: to.access('logins') },
        ]}
      />
    </PageHead>
  )
}
