/** Texts of the pipeline editor, loaded with it. */

export const editorWords = {
  newPipeline: 'New pipeline',

  // A pipeline as a whole
  nameTaken: (name: string) => `This application has a pipeline ${name} already.`,

  // Graph
  form: 'Form',
  allStages: 'All stages',
  addStage: 'Add stage',
  addAt: { after: 'Add a stage after', before: 'Add a stage before', parallel: 'Add a stage in parallel' },
  graphKeys: 'Arrows move, Delete removes, Ctrl Z undoes.',
  noStages: 'This pipeline does nothing yet. Add its first stage.',
  removed: (name: string) => `${name} was removed. Undo brings it back.`,
  copyOf: (name: string) => `${name} (copy)`,

  // Form
  name: 'Name',
  type: 'Type',
  window: 'Execution window',
  windowOnly: 'Only in an execution window',
  windowHelp: 'Waits until the window opens. Times are those of the engine’s time zone.',
  days: 'Days',
  dayNames: ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'],
  times: 'Times of day',
  range: (number: number) => `time ${number}`,
  rangeStart: (number: number) => `Start of time ${number}`,
  rangeEnd: (number: number) => `End of time ${number}`,
  addRange: 'Add a time',
  jitter: 'Wait a random time after the window opens',
  delays: { minDelay: 'At least, in seconds', maxDelay: 'At most, in seconds' },
  changeField: (label: string) => `Change ${label}`,
  notAList: 'This is not a list of objects. Correct it in the text.',
  addItem: (item: string) => `Add ${item}`,
  removeItem: (item: string) => `Remove ${item}`,

  // Settings
  settings: 'Settings',
  parameters: 'Parameters',
  parameter: 'parameter',
  noParameters: 'A start asks for nothing. Parameters let it ask for values.',
  required: 'required',
  triggers: 'Triggers',
  trigger: 'trigger',
  noTriggers: 'Only users and programs start this pipeline. Triggers start it by themselves.',
  unknownTrigger: 'This type is not known here. Its fields are kept as they are.',
  off: 'off',
  notifications: 'Notifications',
  notification: 'notification',
  noNotifications: 'Nothing is sent.',
  artifacts: 'Artifacts',
  artifact: 'artifact',
  noArtifacts: 'No artifact is expected.',
  pipelineNameHelp: 'Each name exists once in an application.',

  // Problems
  nameMissing: 'Enter a name.',
  typeMissing: 'The stage has no type.',
  refIdTaken: (refId: string) => `Another stage has the reference ${refId}.`,
  requisiteUnknown: (refId: string) => `There is no stage with the reference ${refId}.`,
  circle: (names: readonly string[]) => `These stages wait for each other: ${names.join(', ')}.`,
  doesNotRun: 'This instance cannot run stages of this type.',
  fieldMissing: (field: string) => `Enter ${field}.`,
  fieldWrong: (field: string, wrong: string) => `${field} ${wrong}.`,
  yamlProblem: (line: number, problem: string) => `Line ${line}: ${problem}`,
  mustBeNumber: 'must be a number',
  mustBeObject: 'must be an object',
  mustBeObjects: 'must be a list of objects',
  mustBeOneOf: (choices: readonly string[]) => `must be one of ${choices.join(', ')}`,
} as const
