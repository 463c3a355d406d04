/** Words of the settings of applications and of projects; loaded with the first of these screens. */
import { plural } from './words.ts'

export const settingsWords = {
  // Settings of an application
  permissions: 'Permissions',
  delete: 'Delete',
  review: 'Review changes',
  field: 'Setting',
  before: 'Stored',
  after: 'Yours',
  none: 'none',
  anotherUser: 'Another user',
  stack: 'Stack',
  detail: 'Detail',
  allHelp: '* for all, empty for none.',

  // Projects
  noProjectMatches: (filter: string) => `No project matches “${filter}”.`,
  createProject: 'Create project',
  editProject: (name: string) => `Edit ${name}`,
  edit: 'Edit',
  clusterRow: (number: number) => `Clusters ${number}`,
  onlyApplications: 'Only these applications',
  onlyApplicationsHelp: 'Separated by commas. Empty: all of the project.',
  pipelinesOf: 'Pipelines',
  removeApplication: (name: string) => `Remove ${name}`,
  projectChanged: (name: string, user: string) =>
    `${user} changed ${name} while you were editing. Close this dialog and open it again; copy your changes first.`,
  saveProject: (name: string) => `Save ${name}`,
  countPipelines: (count: number) => plural(count, 'pipeline'),
} as const
