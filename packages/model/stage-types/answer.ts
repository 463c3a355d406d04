/** Stage types as GET /capabilities/stageTypes answers them: with every default filled in. */
import { stageFields } from './common.ts'
import type { Field, StageDescription } from './description.ts'

/**
 * @param engine An external engine may know other types, and other fields of these.
 * @param refusals Why stages of a type fail on this instance, whatever their fields.
 */
export function toStageTypesAnswer(
  descriptions: Iterable<StageDescription>,
  engine: 'embedded' | 'external',
  refusals: ReadonlyMap<string, string> = new Map(),
): object {
  return {
    engine,
    verified: engine === 'embedded',
    commonFields: stageFields.map(toFieldView),
    stageTypes: [...descriptions].map(({ skip, fields, ...description }) => ({
      ...description,
      restartable: true,
      skippable: skip !== undefined,
      skipKey: skip,
      runsHere: engine === 'embedded' ? !refusals.has(description.type) : undefined,
      reason: refusals.get(description.type),
      fields: fields.map(toFieldView),
    })),
  }
}

function toFieldView({
  required,
  expression,
  onlyChoices,
  fields,
  hiddenFields: _hidden,
  ...field
}: Field): object {
  return {
    ...field,
    required: required ?? false,
    expression: expression ?? true,
    onlyChoices: onlyChoices ?? false,
    fields: fields?.map(toFieldView),
  }
}
