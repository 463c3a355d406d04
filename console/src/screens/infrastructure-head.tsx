/** The head of the screens about infrastructure, with the tabs between them, and the accounts that they show. */
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import { adminWords } from '../admin-words.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { PageHead } from '../components/page-head.tsx'
import { LinkTabs } from '../components/tabs.tsx'
import { objectsOf, textOf, textsOf } from '../model/read.ts'

export function InfrastructureHead({ tab, actions }: { tab: string; actions?: ComponentChildren }) {
  return (
    <PageHead tab={`${adminWords.infrastructure}: ${tab}`} title={adminWords.infrastructure} actions={actions}>
      <LinkTabs
        label={adminWords.infrastructure}
        tabs={[
          { label: adminWords.loadBalancers, href: to.infrastructure('load-balancers') },
          { label: adminWords.images, href: to.infrastructure('images') },
          { label: adminWords.securityGroups, href: to.infrastructure('security-groups') },
          { label: adminWords.networks, href: to.infrastructure('networks') },
          { label: adminWords.accounts, href: to.infrastructure('accounts') },
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
