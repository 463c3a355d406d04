/** Texts of the pipeline editor, loaded with it. */
import { plural } from '../words.ts'

export const words = {
  graph: 'Graph',
  text: 'Text',
  diff: 'Difference',
  history: 'History',
  dryRun: 'Dry run',
  views: 'Views of the pipeline',
  newPipeline: 'New pipeline',
  edit: (name: string) => `Edit ${name}`,
  save: 'Save',
  discard: 'Discard changes',
  undo: 'Undo',
  redo: 'Redo',
  merge: 'Merge',
  unsaved: (count: number) => plural(count, 'unsaved change'),
  saved: 'Saved',
  noSuchPipeline: 'There is no such pipeline, or you may not read it.',
  locked: (why: string | undefined) =>
    `This pipeline is locked${why === undefined ? '' : ` (${why})`}: it is changed where it is made, not here.`,
  unlock: 'Unlock',
  templated: 'This pipeline comes from a template. Change the template, or its variables where they are kept.',

  // Problems
  nameMissing: 'Enter a name.',
  typeMissing: 'The stage has no type.',
  refIdTaken: (refId: string) => `Another stage has the reference ${refId}.`,
  requisiteUnknown: (refId: string) => `There is no stage with the reference ${refId}.`,
  circle: (names: readonly string[]) => `These stages wait for each other: ${names.join(', ')}.`,
  doesNotRun: 'This instance cannot run stages of this type.',
  fieldMissing: (field: string) => `Enter ${field}.`,
  fieldWrong: (field: string, wrong: string) => `${field} ${wrong}.`,
  mustBeNumber: 'must be a number',
  mustBeObject: 'must be an object',
  mustBeObjects: 'must be a list of objects',
  mustBeOneOf: (choices: readonly string[]) => `must be one of ${choices.join(', ')}`,
} as const
