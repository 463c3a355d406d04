/** Texts of the text, difference, history and dry-run views of the pipeline editor, loaded with them. */
export const textWords = {
  // Text
  required: 'required',
  defaultValue: (value: string) => `Without it: ${value}.`,
  oneOf: (choices: string) => `One of ${choices}.`,
  otherNames: (names: string) => `Also as ${names}.`,
  noExpression: 'Expressions in it are not evaluated when the stage begins.',
} as const
