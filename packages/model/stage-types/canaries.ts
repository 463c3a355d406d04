/** Descriptions of canary analysis and of its parts. */
import { optional } from './common.ts'
import {
  choice,
  type Field,
  json,
  map,
  number,
  object,
  objects,
  type StageDescription,
  stagesOf,
  text,
} from './description.ts'

const scope = [
  text('scopeName', 'Name that the configuration has for it.', { default: 'default' }),
  text(
    'controlScope',
    'What is compared with, such as the server group of the baseline. Not with `deployments`.',
  ),
  text('controlLocation', 'Its region or namespace.'),
  text(
    'experimentScope',
    'What is judged, such as the server group of the canary. Not with `deployments`.',
  ),
  text('experimentLocation', 'Its region or namespace.'),
  number('step', 'Seconds between two points.', { default: 60, range: { from: 1 } }),
  text(
    'startTimeIso',
    'Begin of a time that is over: 2026-01-31T08:00:00Z. That of the first scope counts.',
  ),
  text('endTimeIso', 'Its end. The stage then waits for nothing.'),
  map('extendedScopeParams', 'What the metrics store needs besides.'),
]

const score = { range: { from: 0, to: 100 } }

const thresholds = object(
  'scoreThresholds',
  'Without any, every score is good.',
  [
    number('pass', 'Score of the last interval from which the canary is good.', {
      default: 75,
      ...score,
    }),
    number('marginal', 'An interval whose score is not above it ends the stage at once.', {
      default: 50,
      ...score,
    }),
  ],
  { rising: ['marginal', 'pass'] },
)

const configuration = [
  text('canaryConfigId', 'The configuration: metrics and their weights.', {
    choicesFrom: 'canary-configs',
  }),
  text('canaryConfigName', 'Its name, instead of the id.'),
  text('configurationAccountName', 'Account that keeps the configuration.', {
    choicesFrom: 'canary-accounts',
  }),
]

const analysis = [
  ...configuration,
  thresholds,
  text('metricsAccountName', 'Account that has the metrics.', { choicesFrom: 'canary-accounts' }),
  text('storageAccountName', 'Account that keeps the results.', { choicesFrom: 'canary-accounts' }),
  map('siteLocal', 'Passed on to kayenta as it is.'),
]

const usuallyNone = { default: 0, range: { from: 0 } }

export const canaryConfig = object(
  'canaryConfig',
  'What is compared, for how long, and which score is enough.',
  [
    ...analysis,
    objects('scopes', 'Pairs of baseline and canary.', scope, { required: true }),
    text(
      'lifetimeDuration',
      'How long to watch, such as PT1H30M. Without it, `endTimeIso` says how long.',
      {
        form: 'duration',
        range: { above: 0 },
      },
    ),
    number('lifetimeHours', 'The same in hours, as older pipelines have it.', {
      range: { above: 0 },
    }),
    number(
      'beginCanaryAnalysisAfterMins',
      'Minutes to warm up, which no judgment looks at.',
      usuallyNone,
    ),
    number(
      'canaryAnalysisIntervalMins',
      'Minutes between two judgments; 0: one judgment at the end.',
      usuallyNone,
    ),
    number(
      'lookbackMins',
      'Minutes that each judgment looks at; 0: everything since the begin.',
      usuallyNone,
    ),
    number(
      'baselineAnalysisOffsetInMins',
      'Minutes by which the time of the baseline is earlier.',
      { default: 0 },
    ),
  ],
  { required: true },
)

const deployments = object(
  'deployments',
  'Baseline and canary that the stage deploys, and removes when it ends.',
  [
    object('baseline', 'What runs: the baseline has the image of its newest server group.', [
      text('cloudProvider', 'The provider.', { choicesFrom: 'providers', default: 'aws' }),
      text('account', 'The account.', { required: true, choicesFrom: 'accounts' }),
      text('application', 'The application; unless given, that of the execution.', {
        choicesFrom: 'applications',
      }),
      text('cluster', 'The cluster.', { required: true, choicesFrom: 'clusters' }),
    ]),
    objects(
      'serverGroupPairs',
      'Pairs to deploy. Their clusters are theirs alone: everything in them is removed.',
      [
        json('control', 'The baseline, with the fields of a cluster of `deploy`.', {
          required: true,
        }),
        json(
          'experiment',
          'The canary; without an image of its own, it has that of a stage ahead.',
          { required: true },
        ),
        number('trafficPercent', 'Share of the traffic that each of the two gets.', {
          range: { from: 1, to: 50 },
        }),
      ],
      { required: true },
    ),
    text(
      'delayBeforeCleanup',
      'How long they stay without traffic before they are removed: seconds, or PT10M.',
      {
        default: '0',
        form: 'duration',
        range: { from: 0 },
      },
    ),
  ],
)

const stage = [
  choice(
    'analysisType',
    'Whether the time to compare is still to come, and who deploys what is compared.',
    {
      choices: ['realTime', 'realTimeAutomatic', 'retrospective'],
      default: 'realTime',
    },
  ),
  canaryConfig,
  deployments,
]

/** The same where scopes and deployments follow from what is deployed. */
export const analysisFields: readonly Field[] = stage.map((field: Field) => ({
  ...field,
  ...(field.fields && { fields: field.fields.map(optional) }),
}))

const control = stagesOf('Control')

export const runCanary = control.task(
  'runCanary',
  'Judge a canary',
  'Judges one interval of a canary analysis.',
  [
    ...analysis,
    map(
      'scopes',
      'By name: controlScope and experimentScope, each with scope, location, start, end and step.',
      {
        required: true,
      },
    ),
    number('interval', 'Its number, for messages.'),
    number('intervals', 'How many there are, for messages.'),
    number('lookbackIntervals', 'How many of them a judgment looks at.'),
  ],
)

export const canaryStages: readonly StageDescription[] = [
  control.both(
    'kayentaCanary',
    'Canary analysis',
    'Compares metrics of a new version with those of a baseline, and fails when the new one is worse.',
    stage,
  ),
  control.task(
    'runCanaryIntervals',
    'Judge a canary repeatedly',
    'Waits and judges, interval by interval.',
    [canaryConfig],
  ),
  runCanary,
  control.task(
    'resolveCanaryConfig',
    'Find a canary configuration',
    'Looks for a canary configuration.',
    configuration,
  ),
  control.task(
    'deployCanaryServerGroups',
    'Deploy baseline and canary',
    'Deploys the server groups of the canary analysis that it is a part of.',
    [],
  ),
  control.task(
    'cleanupCanaryClusters',
    'Remove baseline and canary',
    'Removes the server groups of the canary analysis that it is a part of.',
    [],
  ),
]
