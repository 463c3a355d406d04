/** Descriptions of the stage types that make, bind and find artifacts. */
import {
  flag,
  json,
  longText,
  object,
  objects,
  type StageDescription,
  stagesOf,
  text,
} from './description.ts'

const artifacts = stagesOf('Artifacts')

const pattern = [
  text('type', 'Type of the artifact, such as `docker/image`.'),
  text('name', 'Its name.'),
  text('version', 'Its version.'),
  text('location', 'Its location.'),
  text('reference', 'Its reference.'),
]

const expected = [
  text('id', 'Id by which later stages name it.'),
  text('displayName', 'Name for readers.'),
  object(
    'matchArtifact',
    'Each field that is set equals that of the artifact, or is a regular expression for all of it.',
    pattern,
  ),
  flag('useDefaultArtifact', 'Without a match, the default is taken.'),
  json('defaultArtifact', 'The default.'),
]

export const findArtifactFromExecution = artifacts.pipeline(
  'findArtifactFromExecution',
  'Find artifact from execution',
  'Binds expected artifacts to those of the newest execution of a pipeline.',
  [
    text('application', 'Application of the pipeline, for forms; `pipeline` decides.', {
      choicesFrom: 'applications',
    }),
    text('pipeline', 'Id of the pipeline.', { required: true, choicesFrom: 'pipelines' }),
    object('executionOptions', 'Which executions count; unless given, those that succeeded.', [
      flag('succeeded', 'Those that succeeded.'),
      flag('terminal', 'Those that failed.'),
      flag('running', 'Those that run.'),
    ]),
    objects(
      'expectedArtifacts',
      'What is expected; of several matches the newest is taken.',
      expected,
      {
        required: true,
        otherNames: ['expectedArtifact'],
      },
    ),
  ],
)

export const artifactStages: readonly StageDescription[] = [
  artifacts.pipeline(
    'evaluateArtifacts',
    'Evaluate artifacts',
    'Makes artifacts of texts with expressions, for later stages.',
    [
      objects('artifactContents', 'The artifacts; those without a text are left out.', [
        text('id', 'Id by which later stages name it.'),
        text('name', 'Name of the artifact.'),
        longText('contents', 'Its content.'),
      ]),
    ],
  ),
  artifacts.pipeline(
    'bindArtifact',
    'Bind artifacts',
    'Binds expected artifacts to those that the trigger and earlier stages have brought, for later stages.',
    [
      objects(
        'expectedArtifacts',
        'What is expected; of several matches the nearest is taken.',
        [
          ...expected,
          flag(
            'usePriorArtifact',
            'Without a match, that of the last execution of this pipeline is taken.',
          ),
        ],
        { required: true, otherNames: ['expectedArtifact'] },
      ),
    ],
  ),
  findArtifactFromExecution,
]
