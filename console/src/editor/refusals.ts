/** Ties the words of a refusal to the stages and fields that they name. */
import type { ApiError } from '../api/api-error.ts'
import type { Json } from '../model/read.ts'
import type { Path } from './json-path.ts'
import type { Problem } from './problems.ts'
import { stagesOf, titleOfStage, toNodes } from './stages.ts'

/** One for each part of the message that names a stage; none where it names no stage. */
export function toRefusals({ message }: Pick<ApiError, 'message'>, definition: Json): readonly Problem[] {
  const parts = message.split(/(?=\bStage (?:"|\d))/).filter((part) => part.startsWith('Stage '))
  const nodes = toNodes(definition)
  return parts.flatMap((part): readonly Problem[] => {
    const at = findStage(part, stagesOf(definition))
    if (at === undefined) return []
    const field = /: "([^"]+)"/.exec(part)?.[1]
    const path = ['stages', at, ...(field === undefined ? ['type'] : parsePath(field))]
    return [{ path, message: part.trim(), stage: nodes[at]?.key, kind: 'wrong', severity: 'error' }]
  })
}

/** By name, or by number from 1. */
function findStage(part: string, stages: readonly Json[]): number | undefined {
  const number = /^Stage (\d+)/.exec(part)?.[1]
  const named = stages.findIndex((stage) => part.startsWith(`Stage "${titleOfStage(stage)}"`))
  if (named >= 0) return named
  const at = Number(number) - 1
  return at >= 0 && at < stages.length ? at : undefined
}

/** `clusters[0].capacity` as a path. */
function parsePath(text: string): Path {
  return text.split(/[.[\]]+/).flatMap((step) => (step === '' ? [] : /^\d+$/.test(step) ? Number(step) : step))
}
