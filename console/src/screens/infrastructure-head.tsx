/** The head of the screens about infrastructure, with the tabs between them, and the accounts that they show. */
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { PageHead } from '../components/page-head.tsx'
import { LinkTabs } from '../components/tabs.tsx'
import { objectsOf, textOf, textsOf } from '../model/read.ts'

export function InfrastructureHead({ tab, actions }: { tab: string; actions?: ComponentChildren }) {
  return (
    <PageHead tab={`Infrastructure: ${tab}`} title="Infrastructure" actions={actions}>
      <LinkTabs
        label="Infrastructure"
        tabs={[
          { label: 'Load balancers', href: to.infrastructure('load-balancers') },
          { label: 'Images', href: to.infrastructure('images') },
          { label: 'Security groups', href: to.infrastructure('security-groups') },
          { label: 'Networks', href: to.infrastructure('networks') },
          { label: 'Accounts', href: to.infrastructure('accounts') },
        ]}
      />
    </PageHead>
  )
}

export function useAccounts() {
  return useLive('/credentials', { query: { expand: true } }, { refresh: 'slow' })
}

type Account = Schemas['Account']

export function providerOf({ cloudProvider, type }: Account): string {
  return cloudProvider ?? type
}

export function providersOf(accounts: readonly Account[]): readonly string[] {
  return [...new Set(accounts.map(providerOf))]
}

/** Providers list names, or objects with a name; some call them namespaces. */
export function regionsOf({ regions, ...account }: Account): readonly string[] {
  return [...textsOf(regions), ...textsOf(account['namespaces']), ...objectsOf(regions).flatMap(({ name }) => textOf(name) ?? [])]
}
