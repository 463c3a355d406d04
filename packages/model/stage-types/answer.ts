/** Stage types as GET /capabilities/stageTypes answers them: with every default filled in. */
import { stageFields } from './common.ts'
import type { Field, StageDescription } from './description.ts'

/**
 * @param refusals Why stages of a type fail on this instance, whatever their fields; undefined: another engine runs them, which may
 *   know other types, and other fields of these.
 */
export function toStageTypesAnswer(
  descriptions: Iterable<StageDescription>,
  refusals?: ReadonlyMap<string, string>,
): object {
  return {
    engine: refusals === undefined ? 'external' : 'embedded',
    verified: refusals !== undefined,
    commonFields: stageFields.map(toFieldView),
    stageTypes: [...descriptions].map(({ skip, fields, ...description }) => ({
      ...description,
      restartable: true,
      skippable: skip !== undefined,
      skipKey: skip,
      runsHere: refusals && !refusals.has(description.type),
      reason: refusals?.get(description.type),
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
