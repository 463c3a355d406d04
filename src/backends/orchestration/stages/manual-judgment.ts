/** `manualJudgment`: waits until a user continues or stops the run. */

import type { ServiceAnswer } from '../../../external/service-call.ts'
import { pathTo } from '../../../http/encode-path.ts'
import { fieldOf, type JsonObject, listOf, objectOf } from '../../../json/values.ts'
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
  finalKeys: ['judgmentStatus', 'judgmentInput'],
  forgets: ['judgmentStatus', 'judgmentInput', 'lastModifiedBy'],
  prepareRestart(stage) {
    stage.lastModified = undefined
  },
}

async function waitForJudgment(context: TaskContext): Promise<TaskResult> {
  const { context: settings, lastModified } = context.stage
  const judgment = String(settings['judgmentStatus'] ?? '').toLowerCase()
  if (!isJudgment(judgment)) return { status: 'RUNNING' }
  const ask = (path: string) => context.call('fiat', { method: 'GET', path }, [404])
  if (!(await mayJudge(settings, lastModified?.user ?? 'anonymous', ask))) {
    return { status: 'RUNNING', context: { judgmentStatus: '', judgmentInput: undefined } }
  }
  // Said again, so that a change that came in while the roles were asked for does not contradict the outcome.
  return { status: judgment === 'continue' ? 'SUCCEEDED' : 'TERMINAL', context: { judgmentStatus: settings['judgmentStatus'] } }
}

export function requiredRoles(settings: JsonObject): string[] {
  for (const key of ['requiredJudgmentRoles', 'selectedStageRoles']) {
    const roles = settings[key]
    if (Array.isArray(roles) && roles.length > 0) return roles.map((role) => String(role).toLowerCase())
  }
  return []
}

/**
 * Whether a user has one of the roles that the stage requires, if any. Administrators pass. A user that the permission service does
 * not know has no roles.
 *
 * @throws what `ask` throws
 */
export async function mayJudge(
  settings: JsonObject,
  user: string,
  ask: (path: string) => Promise<ServiceAnswer>,
): Promise<boolean> {
  const wanted = requiredRoles(settings)
  if (wanted.length === 0) return true
  const { admin, roles } = objectOf((await ask(pathTo`/authorize/${user}`)).body)
  if (admin === true) return true
  return listOf(roles).some((role) => wanted.includes(String(fieldOf(role, 'name') ?? role).toLowerCase()))
}
