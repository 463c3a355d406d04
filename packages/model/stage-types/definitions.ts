/** Descriptions of the jobs that change stored definitions. */
import {
  type Field,
  flag,
  json,
  object,
  type StageDescription,
  stagesOf,
  text,
} from './description.ts'

const payload = json('pipeline', 'The pipeline, as JSON in base64.', {
  required: true,
  expression: false,
})

const staleCheck = flag(
  'staleCheck',
  'Rejects a pipeline that is based on an older version than the stored one.',
)

const template = json('pipelineTemplate', 'The template, as JSON in base64.', {
  required: true,
  expression: false,
})

const versions = [text('tag', 'Tag of the version.'), text('digest', 'Digest of the version.')]

const templateId = text('pipelineTemplateId', 'Id of the template.', {
  required: true,
  otherNames: ['id'],
})

const templateJobs: readonly (readonly [type: string, label: string, fields: readonly Field[]])[] =
  [
    ['createPipelineTemplate', 'Create a template', [template]],
    ['updatePipelineTemplate', 'Change a template', [template, text('id', 'Id of the template.')]],
    ['deletePipelineTemplate', 'Delete a template', [templateId]],
    ['createV2PipelineTemplate', 'Create a template (v2)', [template, ...versions]],
    [
      'updateV2PipelineTemplate',
      'Change a template (v2)',
      [template, text('id', 'Id of the template.'), ...versions],
    ],
    ['deleteV2PipelineTemplate', 'Delete a template (v2)', [templateId, ...versions]],
  ]

const appFields = [
  text('name', 'Its name.', { required: true }),
  text('email', 'Address of the owner.'),
  text('description', 'For readers.'),
  json('cloudProviders', 'Providers, whose rules the name follows.', { choicesFrom: 'providers' }),
  object(
    'permissions',
    'Roles by READ, EXECUTE and WRITE; without any, all users may do everything.',
  ),
  json('trafficGuards', 'Clusters that must keep instances up.'),
]

const applications = stagesOf('Applications')
const definitions = stagesOf('Definitions')

export const deployRevision = applications.pipeline(
  'deployRevision',
  'Deploy a revision',
  'Deploys what was pushed to the repository of an app, by its app file: the branch to the first environment, others as previews.',
  [
    text('repository', 'Address of the Git repository.', { required: true }),
    text('branch', 'That is deployed to the first environment of the file.', { default: 'main' }),
    text('artifactAccount', 'Artifact account for Git, whose login is used.'),
  ],
)

export const savePipeline = definitions.both(
  'savePipeline',
  'Save a pipeline',
  'Stores one pipeline, or several at once.',
  [
    { ...payload, otherNames: ['pipelines'] },
    text('pipeline.id', 'Id of the pipeline, if it has none itself.'),
    flag('isBulkSavingPipelines', 'Several pipelines, in `pipelines`.'),
    json('pipelines', 'Pipelines, as a JSON list in base64.', { expression: false }),
    staleCheck,
  ],
)

export const savePipelinesFromArtifact = definitions.pipeline(
  'savePipelinesFromArtifact',
  'Save pipelines from a file',
  'Stores the pipelines and declared environments of applications that an artifact has, as JSON or YAML.',
  [
    text('pipelinesArtifactId', 'The expected artifact with the file.', {
      choicesFrom: 'artifacts',
    }),
    json('pipelinesArtifact', 'An artifact with the file, in place of an expected one.'),
  ],
)

export const updatePipeline = definitions.both(
  'updatePipeline',
  'Change a pipeline',
  'Replaces a stored pipeline.',
  [payload, staleCheck],
)

export const definitionStages: readonly StageDescription[] = [
  deployRevision,
  ...['createApplication', 'updateApplication', 'upsertApplication'].map((type) =>
    applications.task(
      type,
      type === 'createApplication' ? 'Create an application' : 'Change an application',
      'Creates an application, or changes it if it exists.',
      [
        object('application', 'The application. Further fields are stored.', appFields, {
          required: true,
        }),
      ],
    ),
  ),
  applications.task(
    'deleteApplication',
    'Delete an application',
    'Deletes an application that has no clusters and no security groups any more.',
    [
      json('application', 'The application: an object with its name, or the name.', {
        required: true,
      }),
    ],
  ),
  savePipeline,
  savePipelinesFromArtifact,
  updatePipeline,
  definitions.both(
    'deletePipeline',
    'Delete a pipeline',
    'Deletes a pipeline by application and name.',
    [payload],
  ),
  definitions.task(
    'reorderPipelines',
    'Order pipelines',
    'Gives pipelines or strategies of an application their places in the list.',
    [
      text('application', 'The application, as JSON in base64.', { required: true }),
      json('idsToIndices', 'Places by id, as JSON in base64.', { required: true }),
      json('isStrategy', 'Whether they are strategies, as JSON in base64.', { default: false }),
    ],
  ),
  definitions.task(
    'upsertProject',
    'Create or change a project',
    'Creates a project, or changes the one with its id.',
    [
      object(
        'project',
        'The project. Further fields are stored.',
        [
          text('id', 'Its id; none for a new one.'),
          text('name', 'Its name.'),
          text('email', 'Address of the owner.'),
          json('config', 'Applications, clusters and pipelines.'),
        ],
        { required: true },
      ),
    ],
  ),
  definitions.task('deleteProject', 'Delete a project', 'Deletes a project.', [
    object('project', 'The project.', [text('id', 'Its id.', { required: true })], {
      required: true,
    }),
  ]),
  ...templateJobs.map(([type, label, fields]) =>
    definitions.task(type, label, `${label} of pipelines.`, fields),
  ),
]
