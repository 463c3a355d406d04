/** The reference page of pipelines beside their stages, in Markdown. */
import {
  expectedArtifactFields,
  notificationFields,
  pipelineFields,
  pipelineParameterFields,
  triggerTypes,
} from '../../packages/model/stage-types/pipeline-parts.ts'
import { formatFields } from './stage-types.ts'

export function formatPipelines(): string {
  const triggers = triggerTypes.map(
    ({ type, description, fields }) => `### ${type}\n\n${description}\n\n${formatFields(fields)}`,
  )
  const sections = {
    Settings: formatFields(pipelineFields),
    'Parameters: `parameterConfig`': formatFields(pipelineParameterFields),
    'Triggers: `triggers`': triggers.join('\n\n'),
    'Notifications: `notifications`': formatFields(notificationFields('pipeline')),
    'Expected artifacts: `expectedArtifacts`': formatFields(expectedArtifactFields),
  }
  return `Fields of a pipeline beside its [stages](stage-types.md), which the forms of the console are made of. Expressions are not evaluated
in them, and other fields are kept. A field with \`*\` is required.

${Object.entries(sections)
  .map(([title, text]) => `## ${title}\n\n${text}`)
  .join('\n\n')}`
}
