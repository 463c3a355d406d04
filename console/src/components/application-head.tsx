/** The head of the screens of one application, with the tabs between them. */
import { useEffect } from 'preact/hooks'
import { to } from '../address.ts'
import { useCloudProviders } from '../api/cloud-providers.ts'
import { noteRecent } from '../model/recent.ts'
import { PageHead, type PageHeadProps } from './screen.tsx'
import { LinkTabs } from './tabs.tsx'
import { Name } from './text.tsx'

/** The path to a screen below an application. */
export function applicationCrumbs(application: string) {
  return [
    { label: 'Applications', href: to.applications() },
    { label: <Name text={application} />, href: to.application(application) },
  ]
}

export function pipelineCrumbs(application: string) {
  return [...applicationCrumbs(application), { label: 'Pipelines', href: to.pipelines(application) }]
}

interface ApplicationHeadProps extends Pick<PageHeadProps, 'tab' | 'state' | 'actions'> {
  readonly application: string
}

export function ApplicationHead({ application, tab, ...head }: ApplicationHeadProps) {
  const hasResources = useCloudProviders().some((provider) => provider.hasManifests === true)
  useEffect(() => noteRecent(application), [application])
  const crumbs = [{ label: 'Applications', href: to.applications() }]
  return (
    <PageHead tab={`${application}: ${tab}`} title={<Name text={application} />} crumbs={crumbs} {...head}>
      <LinkTabs
        label={application}
        tabs={[
          { label: 'Overview', href: to.application(application) },
          { label: 'Pipelines', href: to.pipelines(application) },
          { label: 'Runs', href: to.runs(application) },
          { label: 'Load balancers', href: to.places('load-balancers', application) },
          { label: 'Security groups', href: to.places('security-groups', application) },
          ...(hasResources ? [{ label: 'Resources', href: to.resources(application) }] : []),
          { label: 'Jobs', href: to.jobs(application) },
          { label: 'Tasks', href: to.tasks(application) },
          { label: 'Settings', href: to.settings(application) },
        ]}
      />
    </PageHead>
  )
}
