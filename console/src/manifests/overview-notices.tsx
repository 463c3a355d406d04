/** What the overview of an application says about its objects in clusters: accounts that are away, and drift. */

import { changeOperation, useRight } from '../api/rights.ts'
import { Button } from '../components/button.tsx'
import { PendingChip } from '../components/pending-chip.tsx'
import { AccountsAway } from './away.tsx'
import { keyOfDeployment } from './deploy.ts'
import { DriftNotice } from './drift.tsx'
import { deployManifests } from './edit-manifest.tsx'
import { useManifestAccounts } from './use-object.ts'

interface OverviewNoticesProps {
  readonly application: string
  /** Where something of it runs. */
  readonly accounts: readonly string[]
}

export function OverviewNotices({ application, accounts }: OverviewNoticesProps) {
  return (
    <>
      <AccountsAway accounts={accounts} />
      <DriftNotice application={application} />
    </>
  )
}

export function DeployButton({ application }: { application: string }) {
  const accounts = useManifestAccounts() ?? []
  const { reason } = useRight({ operation: changeOperation, application })
  const [first] = accounts
  if (first === undefined) return null
  const names = accounts.map(({ name }) => name)
  const deploy = () => deployManifests({ application, provider: first.provider, accounts: names, account: first.name })
  return (
    <>
      {names.map((name) => (
        <PendingChip key={name} object={keyOfDeployment(name)} />
      ))}
      <Button icon="plus" denied={reason} onClick={deploy}>
        Deploy manifests
      </Button>
    </>
  )
}
