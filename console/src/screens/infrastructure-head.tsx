/** The head of the screens about infrastructure, with the tabs between them, and the accounts that they show. */
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { PageHead } from '../components/page-head.tsx'
import { LinkTabs } from '../components/tabs.tsx'
import { objectsOf, textOf, textsOf } from '../model/read.ts'
import { capital } from '../words.ts'

const sections = ['load-balancers', 'images', 'security-groups', 'networks', 'accounts']

export function InfrastructureHead({ tab, actions }: { tab: string; actions?: ComponentChildren }) {
  const tabs = sections.map((section) => ({ label: capital(section.replace('-', ' ')), href: to.infrastructure(section) }))
  return (
    <PageHead tab={`Infrastructure: ${tab}`} title="Infrastructure" actions={actions}>
      <LinkTabs label="Infrastructure" tabs={tabs} />
    </PageHead>
  )
}

export function useAccounts() {
  return useLive('/credentials', { query: { expand: true } }, { refresh: 'slow' })
}

export function providerOf({ cloudProvider, type }: Schemas['Account']): string {
  return cloudProvider ?? type
}

export function providersOf(accounts: readonly Schemas['Account'][]): readonly string[] {
  return [...new Set(accounts.map(providerOf))]
}

/** Providers list names, or objects with a name; some call them namespaces. */
export function regionsOf({ regions, ...account }: Schemas['Account']): readonly string[] {
  return [...textsOf(regions), ...textsOf(account['namespaces']), ...objectsOf(regions).flatMap(({ name }) => textOf(name) ?? [])]
}
