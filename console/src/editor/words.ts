/** Texts of the pipeline editor, loaded with it. */

export const editorWords = {
  newPipeline: 'New pipeline',

  // A pipeline as a whole
  nameTaken: (name: string) => `This application has a pipeline ${name} already.`,

  // Graph
  addAt: { after: 'Add a stage after', before: 'Add a stage before', parallel: 'Add a stage in parallel' },
  copyOf: (name: string) => `${name} (copy)`,

  // Form
  name: 'Name',
  type: 'Type',
  window: 'Execution window',
  dayNames: ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'],
  delays: { minDelay: 'At least, in seconds', maxDelay: 'At most, in seconds' },

  // Settings
  settings: 'Settings',

  // Problems
  nameMissing: 'Enter a name.',
  doesNotRun: 'This instance cannot run stages of this type.',
} as const
