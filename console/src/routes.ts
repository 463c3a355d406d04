/** The table of screens: address to screen, and what the rail shows. The first match wins. */
import type { ScreenRoute } from './screen.ts'
import { words } from './words.ts'

export const routes: readonly ScreenRoute[] = [
  {
    path: '',
    load: () => import('./screens/home.tsx').then(({ Home }) => Home),
    rail: { label: words.home, icon: 'home' },
    goKey: 'h',
  },
  {
    path: 'applications',
    load: () => import('./screens/applications.tsx').then(({ Applications }) => Applications),
    rail: { label: words.applications, icon: 'apps' },
    goKey: 'a',
  },
  {
    path: 'applications/:application',
    load: () => import('./screens/application.tsx').then(({ ApplicationOverview }) => ApplicationOverview),
  },
  {
    path: 'applications/:application/clusters/:account/:cluster',
    load: () => import('./screens/cluster.tsx').then(({ ClusterScreen }) => ClusterScreen),
  },
  {
    path: 'applications/:application/server-groups/:account/:region/:name',
    load: () => import('./screens/server-group.tsx').then(({ ServerGroupScreen }) => ServerGroupScreen),
  },
  {
    path: 'applications/:application/instances/:account/:region/:id',
    load: () => import('./screens/instance.tsx').then(({ InstanceScreen }) => InstanceScreen),
  },
  {
    path: 'applications/:application/pipelines',
    load: () => import('./screens/pipelines.tsx').then(({ Pipelines }) => Pipelines),
  },
  {
    path: 'applications/:application/pipelines/new',
    load: () => import('./editor/new-pipeline.tsx').then(({ NewPipeline }) => NewPipeline),
  },
  {
    path: 'applications/:application/pipelines/:id/edit',
    load: () => import('./editor/editor.tsx').then(({ EditPipeline }) => EditPipeline),
  },
  {
    path: 'applications/:application/pipelines/:id/start',
    load: () => import('./screens/pipelines.tsx').then(({ Pipelines }) => Pipelines),
  },
  { path: 'search', load: () => import('./screens/search.tsx').then(({ Search }) => Search) },
  { path: 'executions/compare', load: () => import('./screens/compare.tsx').then(({ Compare }) => Compare) },
  {
    path: 'executions/:id',
    load: () => import('./screens/execution.tsx').then(({ ExecutionScreen }) => ExecutionScreen),
  },
  { path: 'applications/:application/tasks', load: () => import('./screens/tasks.tsx').then(({ Tasks }) => Tasks) },
  { path: 'tasks/:id', load: () => import('./screens/task.tsx').then(({ TaskScreen }) => TaskScreen) },
  ...['', '/:account/:region/:name'].map((below) => ({
    path: `applications/:application/load-balancers${below}`,
    load: () =>
      import('./screens/application-load-balancers.tsx').then(({ ApplicationLoadBalancers }) => ApplicationLoadBalancers),
  })),
  ...['', '/:account/:region/:name'].map((below) => ({
    path: `applications/:application/security-groups${below}`,
    load: () => import('./screens/security-groups.tsx').then(({ ApplicationSecurityGroups }) => ApplicationSecurityGroups),
  })),
  { path: 'applications/:application/jobs', load: () => import('./screens/jobs.tsx').then(({ Jobs }) => Jobs) },
  {
    path: 'applications/:application/jobs/:account/:region/:id',
    load: () => import('./screens/jobs.tsx').then(({ JobScreen }) => JobScreen),
  },
  {
    path: 'applications/:application/settings',
    load: () => import('./screens/application-settings.tsx').then(({ ApplicationSettings }) => ApplicationSettings),
  },
  {
    path: 'projects',
    load: () => import('./screens/projects.tsx').then(({ Projects }) => Projects),
    rail: { label: words.projects, icon: 'project', isLess: true },
  },
  { path: 'projects/:name', load: () => import('./screens/project.tsx').then(({ ProjectScreen }) => ProjectScreen) },
  {
    path: 'infrastructure',
    load: () => import('./screens/infrastructure-lists.tsx').then(({ Infrastructure }) => Infrastructure),
    rail: { label: words.infrastructure, icon: 'box', isLess: true },
    goKey: 'i',
  },
  {
    path: 'infrastructure/load-balancers',
    load: () => import('./screens/infrastructure-lists.tsx').then(({ LoadBalancers }) => LoadBalancers),
  },
  { path: 'infrastructure/images', load: () => import('./screens/images.tsx').then(({ Images }) => Images) },
  {
    path: 'infrastructure/security-groups',
    load: () => import('./screens/security-groups.tsx').then(({ SecurityGroups }) => SecurityGroups),
  },
  {
    path: 'infrastructure/networks',
    load: () => import('./screens/infrastructure-lists.tsx').then(({ Networks }) => Networks),
  },
  {
    path: 'infrastructure/accounts',
    load: () => import('./screens/infrastructure-lists.tsx').then(({ Accounts }) => Accounts),
  },
  {
    path: 'access',
    load: () => import('./screens/access.tsx').then(({ Access }) => Access),
    rail: { label: words.access, icon: 'lock', isLess: true },
    goKey: 'x',
  },
  { path: 'access/explain', load: () => import('./screens/explain.tsx').then(({ Explain }) => Explain) },
  { path: 'access/tokens', load: () => import('./screens/tokens.tsx').then(({ Tokens }) => Tokens) },
  { path: 'access/logins', load: () => import('./screens/logins.tsx').then(({ Logins }) => Logins) },
  {
    path: 'health',
    load: () => import('./screens/health.tsx').then(({ Health }) => Health),
    rail: { label: words.health, icon: 'info', isLess: true },
  },
  {
    path: 'audit',
    load: () => import('./screens/audit.tsx').then(({ Audit }) => Audit),
    rail: { label: words.audit, icon: 'list', adminOnly: true, isLess: true },
  },
  {
    path: 'users',
    load: () => import('./screens/users.tsx').then(({ Users }) => Users),
    rail: { label: words.users, icon: 'people', adminOnly: true, isLess: true },
  },
  { path: 'signed-in', load: () => import('./screens/signed-in.tsx').then(({ SignedIn }) => SignedIn) },
]
