/** All stage types that the engine knows. */
import type { StageType, StageTypes } from './stage-type.ts'
import { waitStage } from './wait.ts'

const types: readonly StageType[] = [waitStage]

export const stageTypes: StageTypes = new Map(types.map((type) => [type.type, type]))
