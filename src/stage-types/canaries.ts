/** The description of canary analysis, which an Orca with kayenta runs. */
import { choice, object, objects, type StageDescription, stagesOf, text } from './description.ts'

const scope = [
  text('scopeName', 'Name that the configuration has for it.', { default: 'default' }),
  text('controlScope', 'What is compared with, such as the server group of the baseline.', { required: true }),
  text('controlLocation', 'Its region or namespace.'),
  text('experimentScope', 'What is judged, such as the server group of the canary.', { required: true }),
  text('experimentLocation', 'Its region or namespace.'),
  text('step', 'Seconds between two points.', { default: '60' }),
  text('startTimeIso', 'Begin of a time that is over: 2026-01-31T08:00:00Z.'),
  text('endTimeIso', 'Its end.'),
]

const thresholds = [
  text('pass', 'Score from which the canary is good.', { default: '95' }),
  text('marginal', 'Score below which it fails at once.', { default: '75' }),
]

/** Types of Spinnaker that the embedded engine does not run. */
export const canaryStages: readonly StageDescription[] = [
  stagesOf('Control').pipeline(
    'kayentaCanary',
    'Canary analysis',
    'Compares metrics of a new version with those of a baseline, and fails when the new one is worse.',
    [
      choice('analysisType', 'Whether the time to compare is still to come.', {
        choices: ['realTime', 'retrospective'],
        default: 'realTime',
      }),
      object('canaryConfig', 'What is compared, for how long, and which score is enough.', [
        text('canaryConfigId', 'The configuration: metrics and their weights.', {
          required: true,
          choicesFrom: 'canary-configs',
        }),
        objects('scopes', 'Pairs of baseline and canary.', scope, { required: true }),
        text('lifetimeDuration', 'How long to watch, such as PT1H30M.', { default: 'PT1H' }),
        text('beginCanaryAnalysisAfterMins', 'Minutes until the first judgment.', { default: '0' }),
        text('canaryAnalysisIntervalMins', 'Minutes between two judgments.', { default: '30' }),
        text('lookbackMins', 'Minutes that each judgment looks at; 0: everything since the begin.', { default: '0' }),
        object('scoreThresholds', 'From 0 to 100.', thresholds),
        text('metricsAccountName', 'Account that has the metrics.', { choicesFrom: 'canary-accounts' }),
        text('storageAccountName', 'Account that keeps the results.', { choicesFrom: 'canary-accounts' }),
      ]),
    ],
  ),
]
