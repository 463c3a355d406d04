/** Stages of a stored definition whose user needs rights that its author must have, too: the store behind them does not check who does it. */
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'

/** In lower case: a type in another case means the same. */
export const changesApplication: ReadonlySet<string> = new Set([
  'createapplication',
  'upsertapplication',
  'updateapplication',
  'deleteapplication',
])
export const changesTemplate = /^(?:create|update|delete)(?:v2)?pipelinetemplate$/
const others: ReadonlySet<string> = new Set([
  'savepipeline',
  'updatepipeline',
  'deletepipeline',
  'reorderpipelines',
  'pipeline',
])

/** Types of a job or stage, in lower case. It may bear one type and be carried out as another. */
export function typesOf({ type, alias }: JsonObject): string[] {
  return [type, alias]
    .filter((name) => typeof name === 'string')
    .map((name) => name.trim().toLowerCase())
}

export function isPrivileged(stage: JsonObject): boolean {
  return typesOf(stage).some(
    (type) => others.has(type) || changesApplication.has(type) || changesTemplate.test(type),
  )
}

/**
 * Whether expressions say what such a stage is about, so that the rights of its author can be checked only when it runs. Documents are carried
 * as text in base64.
 */
export function isCheckedLater(stage: JsonObject): boolean {
  const types = typesOf(stage)
  if (types.some(isHidden)) return true
  if (!isPrivileged(stage)) return false
  const { application, pipeline, pipelineId } = stage
  if (types.every((type) => type === 'pipeline'))
    return Object.keys(stage).some(isHidden) || [application, pipeline, pipelineId].some(isHidden)
  return hasHidden(stage)
}

function hasHidden(value: unknown): boolean {
  if (typeof value === 'string')
    return isHidden(value) || isHidden(Buffer.from(value, 'base64').toString())
  if (Array.isArray(value)) return value.some(hasHidden)
  return (
    isObject(value) && Object.entries(value).some(([key, each]) => isHidden(key) || hasHidden(each))
  )
}

function isHidden(value: unknown): boolean {
  return typeof value === 'string' && value.includes('${')
}
