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

  // Problems
  nameMissing: 'Enter a name.',
  doesNotRun: 'This instance cannot run stages of this type.',
} as const
