/** All words of the console, in one place. Names of users are given to functions and never become markup. */
import type { ApiError } from './api/api-error.ts'
import type { Kind } from './model/status.ts'

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`
}

export const words = {
  // Common
  loading: 'Loading',
  stillWaiting: 'Still waiting for Fairlead.',
  tryAgain: 'Try again',
  cancel: 'Cancel',
  close: 'Close',
  copied: 'Copied',
  copyReport: 'Copy the report',
  copyRequestId: 'Copy the request id',
  copyAddress: 'Copy the address of this page',
  request: 'Request',
  more: 'More actions',
  showAll: 'Show all',
  clearFilters: 'Clear filters',
  filter: 'Filter',
  live: 'live',
  skipLink: 'Skip to the content',
  menu: 'Menu',
  panelFailed: 'This panel could not be drawn. The rest of the page works. Copy the report for your operator.',
  typeName: 'To confirm, type',
  copyPath: (path: string) => `Copy ${path}`,
  collapsed: (count: number) => plural(count, 'value'),
  showLong: 'Show all of it',
  follow: 'Follow',
  wrap: 'Wrap lines',
  find: 'Find',
  download: 'Download',
  hits: (count: number) => plural(count, 'hit'),
  noOutput: 'No output yet.',
  lastLines: (shown: number, total: number) => `The last ${shown.toLocaleString()} of ${total.toLocaleString()} lines.`,
  whomToAsk: 'Ask the owner of the application or an administrator for the missing permission.',
  stale: (time: string, why: string, seconds: number) => `Data from ${time}. ${why} Next try in ${seconds} s.`,
  newRows: (count: number) => `${count} new`,
  cut: (shown: number, total: number) => `Showing ${shown} of ${total.toLocaleString()}.`,

  // Frame
  rail: 'Main',
  home: 'Home',
  applications: 'Applications',
  search: 'Search',
  searchHint: 'Search or jump to …',
  signOut: 'Sign out',
  theme: 'Theme',
  themes: { system: 'System', light: 'Light', dark: 'Dark' },
  apiReference: 'API reference',
  keys: 'Keyboard shortcuts',
  singleKeys: 'Single-letter shortcuts',
  zone: (zone: string) => `Times are in ${zone}.`,
  unknownAddress: 'This address belongs to no screen.',
  unknownAddressAdvice: 'Check the address, or search for what you were looking for.',
  goHome: 'Go to Home',
  updated: 'Fairlead was updated.',
  loadNew: 'Load the new console',
  loginEnded: 'Your login has ended',
  loginEndedText: 'Sign in again; nothing on this page is lost.',
  signInAgain: 'Sign in again',
  signedIn: 'You are signed in. You can close this tab.',
  cannotStart: 'The console cannot start',

  // Search
  searchDialog: 'Search',
  searchPlaceholder: 'Application, pipeline, cluster, instance, execution id …',
  searchShort: 'Infrastructure is searched from 3 characters on.',
  noHit: (text: string) => `Nothing matches “${text}”.`,
  commands: 'Commands',
  recent: 'Recently opened',
  pipelines: 'Pipelines',
  executions: 'Executions',
  clusters: 'Clusters',
  serverGroups: 'Server groups',
  instances: 'Instances',
  loadBalancers: 'Load balancers',
  securityGroups: 'Security groups',
  searchFailed: (group: string) => `${group} could not be searched.`,
  goTo: (place: string) => `Go to ${place}`,
  results: (count: number) => plural(count, 'result'),

  // Home
  homeEmpty: 'Nothing has run yet.',
  homeEmptyAdvice: 'Create an application, then a pipeline; its runs appear here.',
  waitingForYou: 'Waiting for you',
  waitingForOthers: 'Waiting',
  running: 'Running',
  failedLately: 'Failed in the last 24 hours',
  mine: 'Mine',
  all: 'All',
  scope: 'Executions',
  judge: 'Judge',
  nothingWaits: 'Nothing waits for you.',
  nothingWaitsForAnyone: 'Nothing waits for a judgment.',
  nothingRuns: 'Nothing is running.',
  nothingFailed: 'Nothing failed in the last 24 hours.',
  stagesDone: (done: number, total: number) => `${done} of ${plural(total, 'stage')}`,
  queued: 'waits for its turn',

  // Applications
  applicationsEmpty: 'No application yet. An application groups pipelines and what they deploy.',
  createApplication: 'Create application',
  noApplicationMatches: (filter: string) => `No application matches “${filter}”.`,
  owner: 'Owner',
  accounts: 'Accounts',
  changed: 'Changed',
  name: 'Name',
  email: 'Owner’s email address',
  description: 'Description',
  nameRule: 'Letters and digits, beginning with a letter.',
} as const

/** A failed call in words: what failed, and what helps. */
export function describeError(error: ApiError): { title: string; advice: string } {
  const { status, service, message, retryAfterMs } = error
  if (status === 0) return { title: 'Fairlead does not answer.', advice: 'Check the connection; the page tries again by itself.' }
  if (status === 403) return { title: message, advice: '' }
  if (status === 404) return { title: message, advice: 'It was deleted, or you may not read it.' }
  if (status === 429 || status === 503) {
    const wait = retryAfterMs === undefined ? 'in a moment' : `in ${Math.ceil(retryAfterMs / 1000)} s`
    return { title: message, advice: `The page tries again ${wait}.` }
  }
  if (status === 504)
    return {
      title: `${service ?? 'A service'} did not answer in time.`,
      advice: 'A change may still have started: check the tasks before you try again.',
    }
  if (status === 502)
    return { title: `${service ?? 'A service'} does not answer (${message})`, advice: 'Other parts of this page are current.' }
  return { title: message, advice: '' }
}

/** For names of states in filters and legends. */
export const kindWords: Readonly<Record<Kind, string>> = {
  succeeded: 'succeeded',
  running: 'running',
  failed: 'failed',
  warning: 'failed, went on',
  waiting: 'waiting',
  paused: 'paused',
  queued: 'queued',
  skipped: 'skipped',
  cancelled: 'cancelled',
  disabled: 'disabled',
  unknown: 'unknown',
}
