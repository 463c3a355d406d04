/** The table of screens: address to screen. The first match wins. */
import { exec } from 'preact-iso/router'
import type { FoundScreen, LoadScreen } from './address.ts'

const own = 'applications/:application'
const place = ':account?/:region?/:name?'

/** Paths below `/console`, with `:name` for a value; a screen is loaded when it is first opened. */
const routes: readonly (readonly [path: string, load: LoadScreen])[] = [
  ['', async () => (await import('./screens/home.tsx')).Home],
  ['applications', async () => (await import('./screens/applications.tsx')).Applications],
  [own, async () => (await import('./screens/clusters.tsx')).ApplicationOverview],
  [
    `${own}/clusters/:account/:cluster`,
    async () => (await import('./screens/clusters.tsx')).ClusterScreen,
  ],
  [
    `${own}/server-groups/:account/:region/:name`,
    async () => (await import('./screens/server-group.tsx')).ServerGroupScreen,
  ],
  [
    `${own}/instances/:account/:region/:id`,
    async () => (await import('./screens/programs.tsx')).InstanceScreen,
  ],
  [`${own}/pipelines`, async () => (await import('./screens/pipelines.tsx')).Pipelines],
  [`${own}/pipelines/new`, async () => (await import('./editor/new-pipeline.tsx')).NewPipeline],
  [`${own}/pipelines/:id/edit`, async () => (await import('./editor/editor.tsx')).EditPipeline],
  [`${own}/pipelines/:id`, async () => (await import('./screens/pipeline.tsx')).PipelineScreen],
  [`${own}/pipelines/:id/start`, async () => (await import('./screens/pipelines.tsx')).Pipelines],
  [`${own}/runs`, async () => (await import('./screens/runs.tsx')).Runs],
  [`${own}/tasks`, async () => (await import('./screens/tasks.tsx')).Tasks],
  [
    `${own}/load-balancers/${place}`,
    async () => (await import('./screens/load-balancers.tsx')).ApplicationLoadBalancers,
  ],
  [
    `${own}/security-groups/${place}`,
    async () => (await import('./screens/security-groups.tsx')).SecurityGroups,
  ],
  [`${own}/jobs`, async () => (await import('./screens/programs.tsx')).Jobs],
  [
    `${own}/jobs/:account/:region/:id`,
    async () => (await import('./screens/programs.tsx')).JobScreen,
  ],
  [
    `${own}/manifests/:account/:location/:name`,
    async () => (await import('./manifests/manifest-screen.tsx')).ManifestScreen,
  ],
  [`${own}/resources`, async () => (await import('./manifests/resources.tsx')).Resources],
  [`${own}/delivery`, async () => (await import('./screens/clusters.tsx')).ApplicationOverview],
  [`${own}/releases/:version`, async () => (await import('./screens/release.tsx')).ReleaseScreen],
  [`${own}/canaries/:id`, async () => (await import('./screens/delivery.tsx')).CanaryScreen],
  [
    `${own}/settings`,
    async () => (await import('./screens/application-settings.tsx')).ApplicationSettings,
  ],
  ['environments', async () => (await import('./screens/applications.tsx')).Environments],
  ['runs', async () => (await import('./screens/runs.tsx')).Runs],
  ['search', async () => (await import('./screens/search.tsx')).Search],
  ['executions/compare', async () => (await import('./screens/compare.tsx')).Compare],
  ['executions/:id', async () => (await import('./screens/execution.tsx')).ExecutionScreen],
  ['tasks/:id', async () => (await import('./screens/tasks.tsx')).TaskScreen],
  ['projects', async () => (await import('./screens/projects.tsx')).Projects],
  ['projects/:name', async () => (await import('./screens/projects.tsx')).ProjectScreen],
  [
    'infrastructure',
    async () => (await import('./screens/infrastructure-lists.tsx')).Infrastructure,
  ],
  [
    'infrastructure/load-balancers',
    async () => (await import('./screens/load-balancers.tsx')).LoadBalancers,
  ],
  ['infrastructure/images', async () => (await import('./screens/images.tsx')).Images],
  [
    'infrastructure/security-groups',
    async () => (await import('./screens/security-groups.tsx')).SecurityGroups,
  ],
  [
    'infrastructure/networks',
    async () => (await import('./screens/infrastructure-lists.tsx')).Networks,
  ],
  [
    'infrastructure/accounts',
    async () => (await import('./screens/infrastructure-lists.tsx')).Accounts,
  ],
  ['access', async () => (await import('./screens/access.tsx')).Access],
  ['access/explain', async () => (await import('./screens/access.tsx')).Explain],
  ['access/tokens', async () => (await import('./screens/tokens.tsx')).Tokens],
  ['access/logins', async () => (await import('./screens/logins.tsx')).Logins],
  ['health', async () => (await import('./screens/health.tsx')).Health],
  ['audit', async () => (await import('./screens/audit.tsx')).Audit],
  ['users', async () => (await import('./screens/users.tsx')).Users],
  ['signed-in', async () => (await import('./screens/logins.tsx')).SignedIn],
]

/** @param path Below the console, encoded, with or without slashes around it. */
export function findScreen(path: string): FoundScreen | undefined {
  for (const [pattern, load] of routes) {
    const match = exec(path, pattern)
    if (match) return { load, params: match.params }
  }
  return undefined
}
