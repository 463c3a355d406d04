/** Texts of the pipeline editor, loaded with it. */

export const editorWords = {
  newPipeline: 'New pipeline',

  // A pipeline as a whole

  // Graph
  addAt: { after: 'Add a stage after', before: 'Add a stage before', parallel: 'Add a stage in parallel' },

  // Form

  // Problems
  nameMissing: 'Enter a name.',
  doesNotRun: 'This instance cannot run stages of this type.',
} as const
