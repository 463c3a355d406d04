/** The head of the screens of one application, with the tabs between them. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { to } from '../address.ts'
import { useCloudProviders } from '../api/cloud-providers.ts'
import { noteRecent } from '../model/recent.ts'
import { words } from '../words.ts'
import { Name } from './name.tsx'
import { PageHead } from './page-head.tsx'
import { LinkTabs } from './tabs.tsx'

/** The path to a screen below an application. */
export function applicationCrumbs(application: string) {
  return [
    { label: words.applications, href: to.applications() },
    { label: <Name text={application} />, href: to.application(application) },
  ]
}

interface ApplicationHeadProps {
  readonly application: string
  /** The title of the browser's tab. */
  readonly tab: string
  readonly state?: ComponentChildren
  readonly actions?: ComponentChildren
}

export function ApplicationHead({ application, tab, state, actions }: ApplicationHeadProps) {
  const hasResources = useCloudProviders().some((provider) => provider.hasManifests === true)
  useEffect(() => noteRecent({ label: application, href: to.application(application) }), [application])
  return (
    <PageHead
      tab={`${application}: ${tab}`}
      title={<Name text={application} />}
      crumbs={[{ label: words.applications, href: to.applications() }]}
      state={state}
      actions={actions}
    >
      <LinkTabs
        label={application}
        tabs={[
          { label: words.overview, href: to.application(application) },
          { label: words.pipelines, href: to.pipelines(application) },
          { label: 'Runs', href: to.runs(application) },
          { label: words.loadBalancers, href: to.loadBalancers(application) },
          { label: words.securityGroups, href: to.securityGroups(application) },
          ...(hasResources ? [{ label: words.resources, href: to.resources(application) }] : []),
          { label: words.jobs, href: to.jobs(application) },
          { label: words.tasks, href: to.tasks(application) },
          { label: words.settings, href: to.settings(application) },
        ]}
      />
    </PageHead>
  )
}
