/** The table of screens: address to screen. The first match wins. */
import { orManifest } from './manifests/or-manifest.tsx'
import type { ScreenRoute } from './screen.ts'

export const routes: readonly ScreenRoute[] = [
  { path: '', load: async () => (await import('./screens/home.tsx')).Home },
  { path: 'applications', load: async () => (await import('./screens/applications.tsx')).Applications },
  { path: 'applications/:application', load: async () => (await import('./screens/application.tsx')).ApplicationOverview },
  {
    path: 'applications/:application/clusters/:account/:cluster',
    load: async () => (await import('./screens/clusters.tsx')).ClusterScreen,
  },
  {
    path: 'applications/:application/server-groups/:account/:region/:name',
    load: orManifest(async () => (await import('./screens/server-group.tsx')).ServerGroupScreen, 'name'),
  },
  {
    path: 'applications/:application/instances/:account/:region/:id',
    load: orManifest(async () => (await import('./screens/instance.tsx')).InstanceScreen, 'id'),
  },
  { path: 'applications/:application/pipelines', load: async () => (await import('./screens/pipelines.tsx')).Pipelines },
  { path: 'applications/:application/pipelines/new', load: async () => (await import('./editor/new-pipeline.tsx')).NewPipeline },
  { path: 'applications/:application/pipelines/:id/edit', load: async () => (await import('./editor/editor.tsx')).EditPipeline },
  { path: 'applications/:application/pipelines/:id', load: async () => (await import('./screens/pipeline.tsx')).PipelineScreen },
  {
    path: 'applications/:application/pipelines/:id/start',
    load: async () => (await import('./screens/pipelines.tsx')).Pipelines,
  },
  { path: 'environments', load: async () => (await import('./screens/environments.tsx')).EnvironmentsScreen },
  ...['runs', 'applications/:application/runs'].map((path) => ({
    path,
    load: async () => (await import('./screens/runs.tsx')).Runs,
  })),
  { path: 'search', load: async () => (await import('./screens/search.tsx')).Search },
  { path: 'executions/compare', load: async () => (await import('./screens/compare.tsx')).Compare },
  { path: 'executions/:id', load: async () => (await import('./screens/execution.tsx')).ExecutionScreen },
  { path: 'applications/:application/tasks', load: async () => (await import('./screens/tasks.tsx')).Tasks },
  { path: 'tasks/:id', load: async () => (await import('./screens/task.tsx')).TaskScreen },
  ...['', '/:account/:region/:name'].map((below) => ({
    path: `applications/:application/load-balancers${below}`,
    load: orManifest(async () => (await import('./screens/load-balancers.tsx')).ApplicationLoadBalancers, 'name'),
  })),
  ...['', '/:account/:region/:name'].map((below) => ({
    path: `applications/:application/security-groups${below}`,
    load: orManifest(async () => (await import('./screens/security-groups.tsx')).ApplicationSecurityGroups, 'name'),
  })),
  { path: 'applications/:application/jobs', load: async () => (await import('./screens/jobs.tsx')).Jobs },
  {
    path: 'applications/:application/jobs/:account/:region/:id',
    load: orManifest(async () => (await import('./screens/jobs.tsx')).JobScreen, 'id'),
  },
  {
    path: 'applications/:application/manifests/:account/:location/:name',
    load: async () => (await import('./manifests/manifest-screen.tsx')).ManifestScreen,
  },
  {
    path: 'applications/:application/resources',
    load: async () => (await import('./manifests/resources.tsx')).Resources,
  },
  {
    path: 'applications/:application/settings',
    load: async () => (await import('./screens/application-settings.tsx')).ApplicationSettings,
  },
  { path: 'projects', load: async () => (await import('./screens/projects.tsx')).Projects },
  { path: 'projects/:name', load: async () => (await import('./screens/project.tsx')).ProjectScreen },
  { path: 'infrastructure', load: async () => (await import('./screens/infrastructure-lists.tsx')).Infrastructure },
  { path: 'infrastructure/load-balancers', load: async () => (await import('./screens/load-balancers.tsx')).LoadBalancers },
  { path: 'infrastructure/images', load: async () => (await import('./screens/images.tsx')).Images },
  { path: 'infrastructure/security-groups', load: async () => (await import('./screens/security-groups.tsx')).SecurityGroups },
  { path: 'infrastructure/networks', load: async () => (await import('./screens/infrastructure-lists.tsx')).Networks },
  { path: 'infrastructure/accounts', load: async () => (await import('./screens/infrastructure-lists.tsx')).Accounts },
  { path: 'access', load: async () => (await import('./screens/access.tsx')).Access },
  { path: 'access/explain', load: async () => (await import('./screens/explain.tsx')).Explain },
  { path: 'access/tokens', load: async () => (await import('./screens/tokens.tsx')).Tokens },
  { path: 'access/logins', load: async () => (await import('./screens/logins.tsx')).Logins },
  { path: 'health', load: async () => (await import('./screens/health.tsx')).Health },
  { path: 'audit', load: async () => (await import('./screens/audit.tsx')).Audit },
  { path: 'users', load: async () => (await import('./screens/users.tsx')).Users },
  { path: 'signed-in', load: async () => (await import('./screens/signed-in.tsx')).SignedIn },
]
