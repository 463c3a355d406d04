/** What is wrong with a draft: findings of the server, and what a form needs before there is a definition at all. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Schemas } from '../api/schema.d.ts'
import { type Path, valueAt } from './json-path.ts'
import { toNodes } from './stages.ts'

export interface Problem {
  readonly path: Path
  readonly message: string
  /** The stage that it belongs to, as `StageNode.key`. */
  readonly stage?: string
  /** An error keeps a save back, which can be made anyway. */
  readonly severity: Schemas['Finding']['severity']
  /** Said after the user was there. */
  readonly isMissing?: boolean
}

/** What the definition had there: once that is another, or another stage stands there, the problem is outdated. */
export interface AnchoredProblem extends Problem {
  readonly value: unknown
}

export const nameMissing = 'Enter a name.'

/** @param definition What the server has checked. */
export function toProblem(
  { place, message, severity }: Schemas['Finding'],
  definition: JsonObject,
): AnchoredProblem {
  const path = parsePath(place)
  const value = valueAt(definition, path)
  const isMissing = path.length > 0 && (value === undefined || value === '')
  return { path, message, severity, isMissing, value, stage: stageAt(definition, path) }
}

/** `clusters[0].capacity` as keys and positions. */
function parsePath(place: string) {
  const steps = place.split(/[.[\]]+/).filter((step) => step !== '')
  return steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step))
}

export function stageAt(definition: JsonObject, [list, index]: Path): string | undefined {
  return list === 'stages' && typeof index === 'number'
    ? toNodes(definition)[index]?.key
    : undefined
}
