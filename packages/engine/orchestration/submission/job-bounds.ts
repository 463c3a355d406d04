/** Bounds of the documents that jobs of tasks carry, checked before anything is stored. */
import { formatJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { maxTagBytes } from '@fairlead/ports/cloud-values.ts'
import { describeBatch, describeOversize, type PipelineLimits } from '../../limits.ts'
import { decodePayload } from '../stages/encoded-payload.ts'

type Describe = (job: JsonObject, limits: PipelineLimits) => string | undefined

/** By the type of the job. */
const bounds: ReadonlyMap<unknown, Describe> = new Map<unknown, Describe>([
  ['savePipeline', describeSave],
  ['updatePipeline', describeSave],
  ['upsertEntityTags', (job) => describeTags(job['tags'], maxTagBytes.entity)],
  ['bulkUpsertEntityTags', (job) => describeTags(job['entityTags'], maxTagBytes.bulk)],
])

/** Why a job can only fail for the size of what it carries: a sentence that says what to do, or undefined. */
export function describeLargeJob(job: JsonObject, limits: PipelineLimits): string | undefined {
  return bounds.get(job['type'])?.(job, limits)
}

function describeSave(
  { pipeline, pipelines }: JsonObject,
  limits: PipelineLimits,
): string | undefined {
  return (
    describeText('The definition', pipeline, limits) ??
    describeText('The list of definitions', pipelines, limits) ??
    describeList(pipelines, limits)
  )
}

/** In base64, four characters hold three bytes. */
function describeText(
  what: string,
  text: unknown,
  { bytes: most }: PipelineLimits,
): string | undefined {
  const bytes = typeof text === 'string' ? Math.floor((text.length / 4) * 3) - 2 : 0
  return describeOversize(what, bytes, most)
}

function describeList(text: unknown, limits: PipelineLimits): string | undefined {
  let list: unknown
  try {
    list = decodePayload(text, 'pipelines')
  } catch {
    // The stage reports it.
  }
  return Array.isArray(list) ? describeBatch(list, limits) : undefined
}

function describeTags(tags: unknown, most: number): string | undefined {
  const bytes = Buffer.byteLength(formatJson(tags))
  return bytes <= most
    ? undefined
    : `The entity tags have ${bytes} bytes; ${most} are allowed. Shorten them, or send them in parts.`
}
