/** The table of screens: address to screen. The first match wins. */
import { exec } from 'preact-iso/router'
import type { FoundScreen, LoadScreen } from './address.ts'

const own = 'applications/:application'
const place = ':account?/:region?/:name?'

type Route = readonly [path: string, load: LoadScreen]

/** Addresses of the screens of a file: paths below `/console`, with `:name` for a value. It is loaded when the first is opened. */
const of = <Name extends string>(
  load: () => Promise<Record<Name, Awaited<ReturnType<LoadScreen>>>>,
  screens: Readonly<Record<string, Name>>,
) => Object.entries(screens).map(([path, name]): Route => [path, async () => (await load())[name]])

const routes = [
  of(() => import('./screens/home.tsx'), { '': 'Home' }),
  of(() => import('./screens/applications.tsx'), {
    applications: 'Applications',
    environments: 'Environments',
  }),
  of(() => import('./screens/clusters.tsx'), {
    [own]: 'ApplicationOverview',
    [`${own}/clusters/:account/:cluster`]: 'ClusterScreen',
    [`${own}/delivery`]: 'ApplicationOverview',
  }),
  of(() => import('./screens/server-group.tsx'), {
    [`${own}/server-groups/:account/:region/:name`]: 'ServerGroupScreen',
  }),
  of(() => import('./screens/programs.tsx'), {
    [`${own}/instances/:account/:region/:id`]: 'InstanceScreen',
    [`${own}/jobs`]: 'Jobs',
    [`${own}/jobs/:account/:region/:id`]: 'JobScreen',
  }),
  of(() => import('./screens/pipelines.tsx'), {
    [`${own}/pipelines`]: 'Pipelines',
    [`${own}/pipelines/:id/start`]: 'Pipelines',
  }),
  of(() => import('./editor/new-pipeline.tsx'), { [`${own}/pipelines/new`]: 'NewPipeline' }),
  of(() => import('./editor/editor.tsx'), { [`${own}/pipelines/:id/edit`]: 'EditPipeline' }),
  of(() => import('./screens/pipeline.tsx'), { [`${own}/pipelines/:id`]: 'PipelineScreen' }),
  of(() => import('./screens/runs.tsx'), { [`${own}/runs`]: 'Runs', runs: 'Runs' }),
  of(() => import('./screens/tasks.tsx'), {
    [`${own}/tasks`]: 'Tasks',
    'tasks/:id': 'TaskScreen',
  }),
  of(() => import('./screens/load-balancers.tsx'), {
    [`${own}/load-balancers/${place}`]: 'ApplicationLoadBalancers',
    'infrastructure/load-balancers': 'LoadBalancers',
  }),
  of(() => import('./screens/security-groups.tsx'), {
    [`${own}/security-groups/${place}`]: 'SecurityGroups',
    'infrastructure/security-groups': 'SecurityGroups',
  }),
  of(() => import('./manifests/manifest-screen.tsx'), {
    [`${own}/manifests/:account/:location/:name`]: 'ManifestScreen',
  }),
  of(() => import('./manifests/resources.tsx'), { [`${own}/resources`]: 'Resources' }),
  of(() => import('./screens/release.tsx'), { [`${own}/releases/:version`]: 'ReleaseScreen' }),
  of(() => import('./screens/delivery.tsx'), { [`${own}/canaries/:id`]: 'CanaryScreen' }),
  of(() => import('./screens/application-settings.tsx'), {
    [`${own}/settings`]: 'ApplicationSettings',
  }),
  of(() => import('./screens/search.tsx'), { search: 'Search' }),
  of(() => import('./screens/compare.tsx'), { 'executions/compare': 'Compare' }),
  of(() => import('./screens/execution.tsx'), { 'executions/:id': 'ExecutionScreen' }),
  of(() => import('./screens/projects.tsx'), {
    projects: 'Projects',
    'projects/:name': 'ProjectScreen',
  }),
  of(() => import('./screens/infrastructure-lists.tsx'), {
    infrastructure: 'Infrastructure',
    'infrastructure/networks': 'Networks',
    'infrastructure/accounts': 'Accounts',
  }),
  of(() => import('./screens/images.tsx'), { 'infrastructure/images': 'Images' }),
  of(() => import('./screens/access.tsx'), { access: 'Access', 'access/explain': 'Explain' }),
  of(() => import('./screens/tokens.tsx'), { 'access/tokens': 'Tokens' }),
  of(() => import('./screens/logins.tsx'), {
    'access/logins': 'Logins',
    'signed-in': 'SignedIn',
  }),
  of(() => import('./screens/health.tsx'), { health: 'Health' }),
  of(() => import('./screens/audit.tsx'), { audit: 'Audit' }),
  of(() => import('./screens/users.tsx'), { users: 'Users' }),
].flat()

/** @param path Below the console, encoded, with or without slashes around it. */
export function findScreen(path: string): FoundScreen | undefined {
  for (const [pattern, load] of routes) {
    const match = exec(path, pattern)
    if (match) return { load, params: match.params }
  }
  return undefined
}
