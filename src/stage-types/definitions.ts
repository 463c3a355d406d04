/** Descriptions of the jobs that change stored definitions. */
import { type Field, flag, json, object, type StageDescription, stage, text } from './description.ts'

const payload: Field = json('pipeline', 'The pipeline, as JSON in base64.', { required: true, expression: false })

const staleCheck: Field = flag('staleCheck', 'Rejects a pipeline that is based on an older version than the stored one.')

const template: Field = json('pipelineTemplate', 'The template, as JSON in base64.', { required: true, expression: false })

const versions: readonly Field[] = [text('tag', 'Tag of the version.'), text('digest', 'Digest of the version.')]

const templateId: Field = text('pipelineTemplateId', 'Id of the template.', { required: true, otherNames: ['id'] })

const templateJobs: readonly (readonly [type: string, label: string, fields: readonly Field[]])[] = [
  ['createPipelineTemplate', 'Create a template', [template]],
  ['updatePipelineTemplate', 'Change a template', [template, text('id', 'Id of the template.')]],
  ['deletePipelineTemplate', 'Delete a template', [templateId]],
  ['createV2PipelineTemplate', 'Create a template (v2)', [template, ...versions]],
  ['updateV2PipelineTemplate', 'Change a template (v2)', [template, text('id', 'Id of the template.'), ...versions]],
  ['deleteV2PipelineTemplate', 'Delete a template (v2)', [templateId, ...versions]],
]

const appFields: readonly Field[] = [
  text('name', 'Its name.', { required: true }),
  text('email', 'Address of the owner.'),
  text('description', 'For readers.'),
  json('cloudProviders', 'Providers, whose rules the name follows.', { choicesFrom: 'providers' }),
  object('permissions', 'Roles by READ, EXECUTE and WRITE; without any, all users may do everything.'),
  json('trafficGuards', 'Clusters that must keep instances up.'),
]

export const definitionStages: readonly StageDescription[] = [
  ...['createApplication', 'updateApplication', 'upsertApplication'].map(
    (type): StageDescription => ({
      type,
      label: type === 'createApplication' ? 'Create an application' : 'Change an application',
      group: 'Applications',
      use: 'task',
      description: 'Creates an application, or changes it if it exists.',
      fields: [object('application', 'The application. Further fields are stored.', appFields, { required: true })],
    }),
  ),
  stage('deleteApplication', 'Delete an application', {
    group: 'Applications',
    use: 'task',
    description: 'Deletes an application that has no clusters and no security groups any more.',
    fields: [json('application', 'The application: an object with its name, or the name.', { required: true })],
  }),
  stage('savePipeline', 'Save a pipeline', {
    group: 'Definitions',
    use: 'both',
    description: 'Stores one pipeline, or several at once.',
    fields: [
      { ...payload, otherNames: ['pipelines'] },
      text('pipeline.id', 'Id of the pipeline, if it has none itself.'),
      flag('isBulkSavingPipelines', 'Several pipelines, in `pipelines`.'),
      json('pipelines', 'Pipelines, as a JSON list in base64.', { expression: false }),
      staleCheck,
    ],
  }),
  stage('updatePipeline', 'Change a pipeline', {
    group: 'Definitions',
    use: 'both',
    description: 'Replaces a stored pipeline.',
    fields: [payload, staleCheck],
  }),
  stage('deletePipeline', 'Delete a pipeline', {
    group: 'Definitions',
    use: 'both',
    description: 'Deletes a pipeline by application and name.',
    fields: [payload],
  }),
  stage('reorderPipelines', 'Order pipelines', {
    group: 'Definitions',
    use: 'task',
    description: 'Gives pipelines or strategies of an application their places in the list.',
    fields: [
      text('application', 'The application, as JSON in base64.', { required: true }),
      json('idsToIndices', 'Places by id, as JSON in base64.', { required: true }),
      json('isStrategy', 'Whether they are strategies, as JSON in base64.', { default: false }),
    ],
  }),
  stage('upsertProject', 'Create or change a project', {
    group: 'Definitions',
    use: 'task',
    description: 'Creates a project, or changes the one with its id.',
    fields: [
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
  }),
  stage('deleteProject', 'Delete a project', {
    group: 'Definitions',
    use: 'task',
    description: 'Deletes a project.',
    fields: [object('project', 'The project.', [text('id', 'Its id.', { required: true })], { required: true })],
  }),
  ...templateJobs.map(
    ([type, label, fields]): StageDescription => ({
      type,
      label,
      group: 'Definitions',
      use: 'task',
      description: `${label} of pipelines.`,
      fields,
    }),
  ),
]
