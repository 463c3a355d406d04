/** All words of the console, in one place. Names of users are given to functions and never become markup. */
import type { ApiError } from './api/api-error.ts'

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`
}

export const words = {
  // Common
  loading: 'Loading',
  stillWaiting: (seconds: number) => `Still waiting for Fairlead (${seconds} s).`,
  tryAgain: 'Try again',
  cancel: 'Cancel',
  close: 'Close',
  copied: 'Copied',
  notCopied: 'The browser refused to copy; select the text instead.',
  copyReport: 'Copy the report',
  copyRequestId: 'Copy the request id',
  request: 'Request',
  more: 'More actions',
  newRows: (count: number) => `${count.toLocaleString()} new`,
  clearFilters: 'Clear filters',
  filter: 'Filter',
  menu: 'Menu',
  panelFailed: 'This panel could not be drawn. The rest of the page works. Copy the report for your operator.',
  typeName: 'To confirm, type',
  copyPath: (path: string) => `Copy ${path}`,
  collapsed: (count: number) => plural(count, 'value'),
  showLong: 'Show all of it',
  lineGone: 'The line of this address is no longer kept.',
  find: 'Find',
  download: 'Download',
  hitOf: (number: number, total: number) => (total === 0 ? 'no hit' : `${number.toLocaleString()} of ${total.toLocaleString()}`),
  outputOf: (name: string, lines: number) => `${name}, ${plural(lines, 'line')}`,
  stale: (time: string, why: string, seconds: number) => `Data from ${time}. ${why} Next try in ${seconds} s.`,
  gone: (time: string) => `This was deleted, or you may no longer read it. The page shows what it read at ${time}.`,
  connections: { connected: 'Live', polling: 'Polling', reconnecting: 'Reconnecting', stale: 'Stale' },
  connectionHelp: {
    connected: 'Fairlead reports changes as they happen.',
    polling: 'This page reads changes every few seconds.',
    reconnecting: 'The connection to Fairlead broke off; this page tries again.',
    stale: 'Fairlead does not answer; this page shows older data.',
  },
  leaveTitle: 'Discard your changes?',
  stay: 'Stay',
  discardChanges: 'Discard',
  cut: (shown: number, total: number) => `Showing ${shown.toLocaleString()} of ${total.toLocaleString()}.`,
  showMore: 'Show more',

  // Frame
  moreScreens: 'More',
  home: 'Home',
  applications: 'Applications',
  infrastructure: 'Infrastructure',
  projects: 'Projects',
  access: 'Access',
  health: 'Health',
  users: 'Users',
  search: 'Search',
  signOut: 'Sign out',
  theme: 'Theme',
  themes: { system: 'System', light: 'Light', dark: 'Dark' },
  apiReference: 'API reference',
  keys: 'Keyboard shortcuts',
  keyList: [
    ['Ctrl K', 'Search or jump to anything'],
    ['/', 'The same'],
    ['g h', 'Home'],
    ['g a', 'Applications'],
    ['g e', 'Environments'],
    ['g r', 'Runs'],
    ['g p', 'Pipelines of the application'],
    ['g t', 'Tasks of the application'],
    ['g x', 'Access'],
    ['Tab', 'In the search: start or edit the pipeline'],
    ['j k', 'Next and previous row; arrows do the same'],
    ['Enter', 'Open the row'],
    ['.', 'Actions of the row'],
    ['s', 'Start the pipeline of the row'],
    ['e h', 'Edit the pipeline of the row; its history'],
    ['d', 'Deploy the image of the row'],
    ['*', 'Favourite: the application of the row'],
    ['f', 'Audit log: filter by the value'],
    ['[ ]', 'Previous and next run, or server group'],
    ['m', 'Home: mine or all'],
    ['1 2 3', 'Home: waiting, failed, running'],
    ['n p', 'Next and previous failed stage'],
    ['t', 'Next tab of the stage'],
    ['l', 'Output: mark the line of the hit in the address'],
    ['c', 'Compare the execution; cancel the task of the row'],
    ['+ - 0', 'Zoom the graph'],
    ['r', 'Read everything on this page again'],
    ['y', 'Copy the address of this page'],
    ['?', 'This list'],
    ['← →', 'Follow the edges of a graph, the bars of a strip, tabs'],
    ['Ctrl Enter', 'Start, in the start dialog'],
    ['Esc', 'Close the innermost'],
  ],
  zone: (zone: string) => `Times are in ${zone}.`,
  unknownAddress: 'This address belongs to no screen.',
  unknownAddressAdvice: 'Check the address, or search for what you were looking for.',
  goHome: 'Go to Home',
  updated: 'Fairlead was updated.',
  unreachable: 'Fairlead does not answer.',
  loadNew: 'Load the new console',
  loginEnded: 'Your login has ended',
  loginEndedText: 'Sign in again; nothing on this page is lost.',
  signInAgain: 'Sign in again',
  signedIn: 'You are signed in. You can close this tab.',
  cannotStart: 'The console cannot start',

  // Search
  searchPlaceholder: 'Application, pipeline, cluster, instance, execution id …',
  searchShort: 'Infrastructure is searched from 3 characters on.',
  noHit: (text: string) => `Nothing matches “${text}”.`,
  recent: 'Recently opened',
  pipelines: 'Pipelines',
  clusters: 'Clusters',
  serverGroups: 'Server groups',
  instances: 'Instances',
  loadBalancers: 'Load balancers',
  securityGroups: 'Security groups',
  searchFailed: (group: string) => `${group} could not be searched.`,
  goTo: (place: string) => `Go to ${place}`,
  cutHits: (shown: number, total: number) => `${shown} of ${total} shown`,
  searchTitle: (text: string) => (text === '' ? 'Search' : `Search: ${text}`),
  results: (count: number) => plural(count, 'result'),

  // Home
  deployExample: 'Deploy the example',
  exampleTitle: 'Deploy the example?',
  exampleLead: (application: string) =>
    `Fairlead deploys a small web program to this machine. It creates the application ${application} with:`,
  exampleParts: (application: string, balancer: string, pipeline: string) => [
    `two images of the program, ${application}:1 and ${application}:2;`,
    `a load balancer, ${balancer}, which answers on a port of this machine;`,
    `a pipeline, ${pipeline}, which is started with version 1.`,
  ],
  exampleEnd: (application: string) =>
    `Start the pipeline again with version 2 to see it replace version 1 without a lost request. To remove everything, destroy the server groups, then delete ${application} in its settings.`,
  exampleTask: (name: string) => `Create ${name}`,
  exampleVersion: 'Version',
  examplePipeline: (port: number) =>
    `Deploys the example program, which answers at http://localhost:${port}/. Start it with version 2 to replace version 1.`,
  waitingForYou: 'Waiting for you',
  running: 'Running',
  judge: 'Judge',
  queued: 'waits for its turn',
  stagesDone: (done: number, total: number) => `${done} of ${plural(total, 'stage')}`,

  // Applications
  createApplication: 'Create application',
  noApplicationMatches: (filter: string) => `No application matches “${filter}”.`,
  noSuchApplication: (name: string) => `There is no application ${name}, or you may not read it.`,
  name: 'Name',
  email: 'Owner’s email address',
  description: 'Description',
  nameRule: 'Letters, digits and hyphens, beginning with a letter.',
  overview: 'Overview',
  resources: 'Resources',
  tasks: 'Tasks',
  settings: 'Settings',
  jobs: 'Jobs',

  // Server groups
  clusterEmpty: (name: string) => `${name} has no server group now.`,
  serverGroupsOf: (cluster: string) => `Server groups of ${cluster}`,
  anyOf: { account: 'All accounts', region: 'All regions', stack: 'All stacks', provider: 'All providers' },
  stack: 'Stack',
  healthChoices: [
    ['up', 'All instances up'],
    ['down', 'Not all instances up'],
  ] as const,
  trafficChoices: [
    ['false', 'Enabled'],
    ['true', 'Disabled'],
  ] as const,
  groupings: { cluster: 'By cluster', region: 'By region', image: 'By image' },
  up: (count: number) => `${count} up`,
  down: (count: number) => `${count} down`,
  upOf: (up: number, total: number) => `${up} of ${total} up`,
  disabled: 'disabled',
  actions: 'Actions',
  actionsOf: (name: string) => `Actions of ${name}`,
  actionRuns: 'An action runs here; wait until it has ended.',
  openDetails: 'Open',
  place: 'Account, region',
  created: 'created',
  details: 'Details',
  rawRecord: 'Raw record',
  state: 'State',
  instance: 'Instance',
  why: 'Why',
  zoneOf: 'Zone',
  since: 'Since',
  console: 'Console output',
  cluster: 'Cluster',
  account: 'Account',
  region: 'Region',
  provider: 'Provider',
  desired: 'Desired instances',
  image: 'Image',
  digest: 'Digest',
  events: 'Events',
  scalingActivities: 'Scaling',
  unknown: 'unknown',
  tryAnyway: 'Try anyway',
  resizeEffect: (name: string, now: number, range: { min?: number | null; max?: number | null } | null | undefined) =>
    `${name} has ${plural(now, 'instance')}.${range ? ` Its range is ${range.min ?? '–'} to ${range.max ?? '–'}.` : ''} Instances that stop finish their requests first.`,
  disableEffect: (name: string, count: number) =>
    `${name} takes no more traffic; its ${count === 1 ? 'one instance keeps' : `${count} instances keep`} running.`,
  takesOver: (names: readonly string[]) => `${names.join(', ')} ${names.length === 1 ? 'takes' : 'take'} all traffic.`,
  destroyEffect: (name: string, count: number, enabled: boolean) =>
    `${enabled ? `${name} is disabled first, then its` : 'Its'} ${count === 1 ? 'one instance stops' : `${count} instances stop`} and the server group is removed. This cannot be undone.`,
  terminateQuestion: (id: string) => ({
    title: `Terminate ${id}?`,
    effect: `${id} stops; its server group starts another instance.`,
    action: `Terminate ${id}`,
  }),
  shrinkQuestion: (id: string, desired: number) => ({
    title: `Terminate ${id} and shrink?`,
    effect: `${id} stops; its server group goes from ${plural(desired, 'instance')} to ${Math.max(0, desired - 1)}.`,
    action: `Terminate ${id} and shrink`,
  }),
  rebootQuestion: (id: string) => ({
    title: `Reboot ${id}?`,
    effect: `${id} stops and starts again; meanwhile it takes no traffic.`,
    action: `Reboot ${id}`,
  }),
  cloneStrategies: [
    ['', 'stay as they are'],
    ['redblack', 'are disabled once the new one is up'],
    ['highlander', 'are destroyed once the new one is up'],
  ] as const,

  // Pipelines
  noSuchPipeline: (id: string, application: string) =>
    `There is no pipeline ${id} in ${application}. It may have been deleted; start another one from the list.`,
  pipelineDisabled: 'The pipeline is disabled.',
  neverRan: 'has not run yet',
  runsOf: (name: string) => `Last runs of ${name}`,
  start: 'Start',
  edit: 'Edit',
  startPipeline: (name: string) => `Start ${name}`,
  yes: 'yes',
  no: 'no',

  // Execution
  execution: 'Execution',
  graph: 'Graph',
  list: 'List',
  time: 'Time',
  stages: 'Stages',
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  zoomReset: 'Zoom to 100 %',
  innerStages: (count: number) => plural(count, 'inner stage'),
  stagesOf: (name: string) => `stages of ${name}`,
  withinStage: (name: string) => `, part of ${name}, `,
  inner: (count: number) => `${count} inner`,
  after: (names: readonly string[]) => `after ${names.join(', ')}`,
  stackOf: (count: number, common: string | undefined) => `${count} × ${common ?? 'stages'}`,
  chainOf: (count: number) => `${count} succeeded`,
  missingStage: (ref: string) => `Stage ${ref}`,
  missingRequisite: 'required, but it does not exist',
  attempt: (number: number) => `attempt ${number}`,
  ofStages: (position: number, total: number) => `${position} of ${total}`,
  previousRun: 'Previous run',
  nextRun: 'Next run',
  notifications: 'Notifications',
  deliveries: { delivered: 'delivered', waiting: 'waiting', failed: 'failed' },
  attempts: (count: number) => plural(count, 'attempt'),
  nextAttempt: 'Next attempt',
  summary: 'Summary',
  steps: 'Steps',
  started: 'Started',
  length: 'Duration',
  keepRunning: 'Keep running',

  // Tasks
  savedPipeline: (name: string, application: string | undefined) =>
    `The definition of ${name}${application === undefined ? '' : ` in ${application}`}`,
  doAgain: 'Do again',
  againGone: (name: string) => `${name} no longer exists.`,
  againNeedless: (name: string) => `${name} is already in the state that this task sets.`,
  cancelTask: 'Cancel task',
} as const

/** A failed call in words: what failed, and what helps. */
export function describeError(error: ApiError, of: 'read' | 'change' = 'read'): { title: string; advice: string } {
  const { status, service, message, retryAfterMs } = error
  const isRead = of === 'read'
  if (status === 0) {
    const advice = isRead
      ? 'Check the connection; the page tries again by itself.'
      : 'Check the connection, and whether the change was made, before you try again.'
    return { title: words.unreachable, advice }
  }
  // A suggestion is advice enough.
  if (status === 404) return { title: message, advice: message.endsWith('?') ? '' : 'It was deleted, or you may not read it.' }
  if (status === 429 || status === 503) {
    const wait = retryAfterMs === undefined ? 'in a moment' : `in ${Math.ceil(retryAfterMs / 1000)} s`
    return { title: message, advice: isRead ? `The page tries again ${wait}.` : `Try again ${wait}.` }
  }
  const mayHaveStarted = 'A change may still have started: check the tasks before you try again.'
  if (status === 504) {
    const advice = isRead ? 'The page tries again by itself.' : mayHaveStarted
    return { title: `${capital(serviceWord(service) ?? 'a service')} did not answer in time.`, advice }
  }
  if (status === 502) {
    const advice = isRead ? 'The page tries again by itself; what other services answer is current.' : mayHaveStarted
    return { title: `${capital(serviceWord(service) ?? 'a service')} does not answer (${message}).`, advice }
  }
  return { title: message, advice: '' }
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const services: Readonly<Record<string, string>> = {
  clouddriver: 'the deployment service',
  echo: 'the event service',
  fiat: 'the permission service',
  front50: 'the definition store',
  igor: 'the build service',
  kayenta: 'the canary service',
  keel: 'managed delivery',
  orca: 'the pipeline engine',
  rosco: 'the bakery',
  swabbie: 'the cleanup service',
}

/** A back end as people call it; undefined for none. */
export function serviceWord(service: string | undefined): string | undefined {
  return service === undefined ? undefined : (services[service] ?? `the service ${service}`)
}
