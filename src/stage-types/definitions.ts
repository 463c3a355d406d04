/** Descriptions of the jobs that change stored definitions. */
import type { Field, StageDescription } from './description.ts'

const payload: Field = {
  name: 'pipeline',
  kind: 'json',
  required: true,
  help: 'The pipeline, as JSON in base64.',
  expression: false,
}

const staleCheck: Field = {
  name: 'staleCheck',
  kind: 'flag',
  default: false,
  help: 'Rejects a pipeline that is based on an older version than the stored one.',
}

const template: Field = {
  name: 'pipelineTemplate',
  kind: 'json',
  required: true,
  help: 'The template, as JSON in base64.',
  expression: false,
}

const versions: readonly Field[] = [
  { name: 'tag', kind: 'text', help: 'Tag of the version.' },
  { name: 'digest', kind: 'text', help: 'Digest of the version.' },
]

const templateId: Field = {
  name: 'pipelineTemplateId',
  kind: 'text',
  required: true,
  otherNames: ['id'],
  help: 'Id of the template.',
}

const templateJobs: readonly (readonly [type: string, label: string, fields: readonly Field[]])[] = [
  ['createPipelineTemplate', 'Create a template', [template]],
  ['updatePipelineTemplate', 'Change a template', [template, { name: 'id', kind: 'text', help: 'Id of the template.' }]],
  ['deletePipelineTemplate', 'Delete a template', [templateId]],
  ['createV2PipelineTemplate', 'Create a template (v2)', [template, ...versions]],
  [
    'updateV2PipelineTemplate',
    'Change a template (v2)',
    [template, { name: 'id', kind: 'text', help: 'Id of the template.' }, ...versions],
  ],
  ['deleteV2PipelineTemplate', 'Delete a template (v2)', [templateId, ...versions]],
]

const appFields: readonly Field[] = [
  { name: 'name', kind: 'text', required: true, help: 'Its name.' },
  { name: 'email', kind: 'text', help: 'Address of the owner.' },
  { name: 'description', kind: 'text', help: 'For readers.' },
  { name: 'cloudProviders', kind: 'json', choicesFrom: 'providers', help: 'Providers, whose rules the name follows.' },
  { name: 'permissions', kind: 'object', help: 'Roles by READ, EXECUTE and WRITE; without any, all users may do everything.' },
  { name: 'trafficGuards', kind: 'json', help: 'Clusters that must keep instances up.' },
]

export const definitionStages: readonly StageDescription[] = [
  ...['createApplication', 'updateApplication', 'upsertApplication'].map(
    (type): StageDescription => ({
      type,
      label: type === 'createApplication' ? 'Create an application' : 'Change an application',
      group: 'Applications',
      use: 'task',
      description: 'Creates an application, or changes it if it exists.',
      fields: [
        {
          name: 'application',
          kind: 'object',
          required: true,
          help: 'The application. Further fields are stored.',
          fields: appFields,
        },
      ],
    }),
  ),
  {
    type: 'deleteApplication',
    label: 'Delete an application',
    group: 'Applications',
    use: 'task',
    description: 'Deletes an application that has no clusters and no security groups any more.',
    fields: [
      { name: 'application', kind: 'json', required: true, help: 'The application: an object with its name, or the name.' },
    ],
  },
  {
    type: 'savePipeline',
    label: 'Save a pipeline',
    group: 'Definitions',
    use: 'both',
    description: 'Stores one pipeline, or several at once.',
    fields: [
      { ...payload, otherNames: ['pipelines'] },
      { name: 'pipeline.id', kind: 'text', help: 'Id of the pipeline, if it has none itself.' },
      { name: 'isBulkSavingPipelines', kind: 'flag', default: false, help: 'Several pipelines, in `pipelines`.' },
      { name: 'pipelines', kind: 'json', help: 'Pipelines, as a JSON list in base64.', expression: false },
      staleCheck,
    ],
  },
  {
    type: 'updatePipeline',
    label: 'Change a pipeline',
    group: 'Definitions',
    use: 'both',
    description: 'Replaces a stored pipeline.',
    fields: [payload, staleCheck],
  },
  {
    type: 'deletePipeline',
    label: 'Delete a pipeline',
    group: 'Definitions',
    use: 'both',
    description: 'Deletes a pipeline by application and name.',
    fields: [payload],
  },
  {
    type: 'reorderPipelines',
    label: 'Order pipelines',
    group: 'Definitions',
    use: 'task',
    description: 'Gives pipelines or strategies of an application their places in the list.',
    fields: [
      { name: 'application', kind: 'text', required: true, help: 'The application, as JSON in base64.' },
      { name: 'idsToIndices', kind: 'json', required: true, help: 'Places by id, as JSON in base64.' },
      { name: 'isStrategy', kind: 'json', default: false, help: 'Whether they are strategies, as JSON in base64.' },
    ],
  },
  {
    type: 'upsertProject',
    label: 'Create or change a project',
    group: 'Definitions',
    use: 'task',
    description: 'Creates a project, or changes the one with its id.',
    fields: [
      {
        name: 'project',
        kind: 'object',
        required: true,
        help: 'The project. Further fields are stored.',
        fields: [
          { name: 'id', kind: 'text', help: 'Its id; none for a new one.' },
          { name: 'name', kind: 'text', help: 'Its name.' },
          { name: 'email', kind: 'text', help: 'Address of the owner.' },
          { name: 'config', kind: 'json', help: 'Applications, clusters and pipelines.' },
        ],
      },
    ],
  },
  {
    type: 'deleteProject',
    label: 'Delete a project',
    group: 'Definitions',
    use: 'task',
    description: 'Deletes a project.',
    fields: [
      {
        name: 'project',
        kind: 'object',
        required: true,
        help: 'The project.',
        fields: [{ name: 'id', kind: 'text', required: true, help: 'Its id.' }],
      },
    ],
  },
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
