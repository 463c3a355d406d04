/** All words of the console, in one place. Names of users are given to functions and never become markup. */
import type { ApiError } from './api/api-error.ts'

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`
}

export const words = {
  // Common
  loading: 'Loading',
  tryAgain: 'Try again',
  cancel: 'Cancel',
  close: 'Close',
  notCopied: 'The browser refused to copy; select the text instead.',
  copyPath: (path: string) => `Copy ${path}`,
  download: 'Download',
  connections: { connected: 'Live', polling: 'Polling', reconnecting: 'Reconnecting', stale: 'Stale' },
  connectionHelp: {
    connected: 'Fairlead reports changes as they happen.',
    polling: 'This page reads changes every few seconds.',
    reconnecting: 'The connection to Fairlead broke off; this page tries again.',
    stale: 'Fairlead does not answer; this page shows older data.',
  },
  cut: (shown: number, total: number) => `Showing ${shown.toLocaleString()} of ${total.toLocaleString()}.`,
  showMore: 'Show more',

  // Frame
  moreScreens: 'More',
  home: 'Home',
  applications: 'Applications',
  projects: 'Projects',
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
  unknownAddress: 'This address belongs to no screen.',
  unreachable: 'Fairlead does not answer.',

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

  // Home
  deployExample: 'Deploy the example',
  exampleTask: (name: string) => `Create ${name}`,
  exampleVersion: 'Version',
  waitingForYou: 'Waiting for you',
  judge: 'Judge',

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
  resizeEffect: (name: string, now: number, range: { min?: number | null; max?: number | null } | null | undefined) =>
    `${name} has ${plural(now, 'instance')}.${range ? ` Its range is ${range.min ?? '–'} to ${range.max ?? '–'}.` : ''} Instances that stop finish their requests first.`,
  takesOver: (names: readonly string[]) => `${names.join(', ')} ${names.length === 1 ? 'takes' : 'take'} all traffic.`,
  shrinkQuestion: (id: string, desired: number) => ({
    title: `Terminate ${id} and shrink?`,
    effect: `${id} stops; its server group goes from ${plural(desired, 'instance')} to ${Math.max(0, desired - 1)}.`,
    action: `Terminate ${id} and shrink`,
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
  time: 'Time',
  stages: 'Stages',
  inner: (count: number) => `${count} inner`,
  ofStages: (position: number, total: number) => `${position} of ${total}`,
  previousRun: 'Previous run',
  nextRun: 'Next run',
  deliveries: { delivered: 'delivered', waiting: 'waiting', failed: 'failed' },
  summary: 'Summary',
  steps: 'Steps',
  started: 'Started',
  keepRunning: 'Keep running',

  // Tasks
  savedPipeline: (name: string, application: string | undefined) =>
    `The definition of ${name}${application === undefined ? '' : ` in ${application}`}`,
  againGone: (name: string) => `${name} no longer exists.`,
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
