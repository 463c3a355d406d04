/** Texts of the text, difference, history and dry-run views of the pipeline editor, loaded with them. */
import { plural } from '../words.ts'

export const textWords = {
  // Text
  required: 'required',
  defaultValue: (value: string) => `Without it: ${value}.`,
  oneOf: (choices: string) => `One of ${choices}.`,
  otherNames: (names: string) => `Also as ${names}.`,
  noExpression: 'Expressions in it are not evaluated when the stage begins.',

  // Dry run
  dryRun: 'Dry run',
  plan: 'Plan',
  dryRunIntro:
    'Shows what each expression of the draft would give with the results of a former run. Nothing is stored or started.',
  run: 'Run',
  noRuns: 'This pipeline has not run yet, so there are no results to evaluate with. Start it once.',
  noExpressions: 'The draft has no expressions.',
  missingInRun: (titles: string) => `The run does not have these stages, so their results are missing: ${titles}.`,
  conditionRuns: 'The stage would run.',
  conditionSkips: 'The stage would be skipped.',
  ownTime: 'Evaluated at its own time, not when the stage begins.',
  nullValue: 'null: nothing is there',
  onlyFailures: 'Only failures',
  failures: (count: number) =>
    count === 0 ? 'All expressions give a value.' : `${plural(count, 'expression')} without a value.`,
  checkPlan: 'Check the plan',
  planGood: 'The engine accepts the draft.',
  planNote: 'Asks the engine to plan the draft: types, fields, references and the expressions of its head. It needs EXECUTE.',
} as const
