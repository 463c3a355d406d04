/** The reference page of stage types, in Markdown. */
import { stageDescriptions } from '../../packages/model/stage-types/all.ts'
import { stageFields } from '../../packages/model/stage-types/common.ts'
import type { Field, StageDescription } from '../../packages/model/stage-types/description.ts'

export function formatStageTypes(): string {
  const groups = Map.groupBy(stageDescriptions.values(), ({ group }) => group)
  const sections = [...groups].map(
    ([group, stages]) => `## ${group}\n\n${stages.map(formatStage).join('\n\n')}`,
  )
  return `Stage types of the embedded engine. \`GET /capabilities/stageTypes\` answers the same, with the types of \`webhook.preconfigured\`.

A save of a pipeline checks the values against this page, and so does a start; a start with \`plan: true\` also reports fields that are
missing. Expressions are not checked, and other fields are passed on. The errors name the stage and the field.

A field with \`*\` is required. Names after a bar mean the same. Values named after "one of" are the only ones. *As written* fields are
not evaluated as expressions.

## Fields of every stage

${formatFields(stageFields)}

${sections.join('\n\n')}`
}

function formatStage({ type, description, use, skip, fields }: StageDescription): string {
  const notes = [
    use === 'pipeline' ? '' : use === 'task' ? ' A job of tasks.' : ' Also a job of tasks.',
    skip === undefined ? '' : ' Users can let it end early.',
  ]
  return `### ${type}\n\n${description}${notes.join('')}${fields.length === 0 ? '' : `\n\n${formatFields(fields)}`}`
}

export function formatFields(fields: readonly Field[]): string {
  return `| Field | Kind | Default | Meaning |\n|---|---|---|---|\n${rowsOf(fields, '').join('\n')}`
}

function rowsOf(fields: readonly Field[], path: string): string[] {
  return fields.flatMap((field) => {
    const names = [field.name, ...(field.otherNames ?? [])]
      .map((name) => `\`${path}${name}\``)
      .join(' \\| ')
    const choices =
      field.choices === undefined
        ? ''
        : ` ${field.onlyChoices ? 'One of' : 'Such as'} ${field.choices.map(show).join(', ')}.`
    const range = field.range === undefined ? '' : ` ${formatRange(field.range)}`
    const asWritten = field.expression === false ? ' *As written.*' : ''
    const row = `| ${names}${field.required ? '*' : ''} | ${field.kind} | ${field.default === undefined ? '' : show(field.default)} | ${field.help.replaceAll('|', '\\|')}${choices}${range}${asWritten} |`
    const suffix = field.kind === 'objects' ? '[].' : '.'
    return [row, ...rowsOf(field.fields ?? [], `${path}${field.name}${suffix}`)]
  })
}

function formatRange({ from, to, above }: NonNullable<Field['range']>): string {
  if (above !== undefined) return `Above ${above}.`
  return to === undefined ? `At least ${from}.` : `From ${from} to ${to}.`
}

function show(value: unknown): string {
  return `\`${typeof value === 'string' && value !== '' ? value : JSON.stringify(value)}\``
}
