export const settingsWords = {
  // Settings of an application
  delete: 'Delete',
  field: 'Setting',
  before: 'Stored',
  after: 'Yours',
  stack: 'Stack',
  detail: 'Detail',

  // Projects
  createProject: 'Create project',
  edit: 'Edit',
  clusterRow: (number: number) => `Clusters ${number}`,
  pipelinesOf: 'Pipelines',
  saveProject: (name: string) => `Save ${name}`,
} as const
