/** Evaluates the expressions of a stage in the course of a run. */

import type { Turn } from '../machine/turn.ts'
import type { Execution, Stage } from '../model.ts'

export function evaluateStageContext(_execution: Execution, _stage: Stage, _turn: Turn): void {}

export function isStageEnabled(_execution: Execution, _stage: Stage, _now: number): boolean {
  return true
}

export function evaluateForStage(_execution: Execution, _stage: Stage, text: string): unknown {
  return text
}
