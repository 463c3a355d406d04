/** `manualJudgment`: waits until a user continues or stops the run. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Rights } from '@fairlead/ports/rights.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

export const judgments = ['continue', 'stop'] as const

export function isJudgment(text: string): boolean {
  return judgments.some((judgment) => judgment === text.toLowerCase())
}

const threeDaysMs = 3 * 24 * 3600 * 1000

export const manualJudgmentStage: StageType = {
  type: 'manualJudgment',
  steps: [
    {
      name: 'waitForJudgment',
      execute: waitForJudgment,
      // A change of the stage wakes it; nothing else can decide.
      pollMs: threeDaysMs,
      timeoutMs: threeDaysMs,
      timeoutFollowsStage: true,
    },
  ],
  finalKeys: ['judgmentStatus', 'judgmentInput', 'judgmentComment'],
  forgets: ['judgmentStatus', 'judgmentInput', 'judgmentComment', 'lastModifiedBy'],
  // Words of a user, who may run no code by them.
  unevaluatedKeys: () => ['judgmentComment'],
  prepareRestart(stage) {
    stage.lastModified = undefined
  },
}

async function waitForJudgment(context: TaskContext): Promise<TaskResult> {
  const { context: settings, lastModified } = context.stage
  const judgment = String(settings['judgmentStatus'] ?? '').toLowerCase()
  if (!isJudgment(judgment)) return { status: 'RUNNING' }
  if (!(await mayJudge(settings, lastModified?.user ?? 'anonymous', context.viewOf))) {
    return { status: 'RUNNING', context: { judgmentStatus: '', judgmentInput: undefined } }
  }
  // Said again, so that a change that came in while the roles were asked for does not contradict the outcome.
  return {
    status: judgment === 'continue' ? 'SUCCEEDED' : 'TERMINAL',
    context: { judgmentStatus: settings['judgmentStatus'] },
  }
}

export function requiredRoles(settings: JsonObject): string[] {
  for (const key of ['requiredJudgmentRoles', 'selectedStageRoles']) {
    const roles = settings[key]
    if (Array.isArray(roles) && roles.length > 0)
      return roles.map((role) => String(role).toLowerCase())
  }
  return []
}

/**
 * Whether a user has one of the roles that the stage requires, if any. Administrators pass. A user that the permission service does
 * not know has no roles.
 *
 * @throws what `viewOf` throws
 */
export async function mayJudge(
  settings: JsonObject,
  user: string,
  viewOf: Rights['viewOf'],
): Promise<boolean> {
  const wanted = requiredRoles(settings)
  if (wanted.length === 0) return true
  const view = await viewOf(user)
  return (
    view !== undefined &&
    (view.admin || view.roles.some(({ name }) => wanted.includes(name.toLowerCase())))
  )
}
