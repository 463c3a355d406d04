/** Conditions of a promotion, each with the evidence that is known of it. */
import { definedOf } from '@fairlead/base/json/values.ts'
import type { Constraint, Environment } from './declaration.ts'
import { describeJudgment, describeSoak, listRoles, soakedAt } from './holds.ts'
import type { Run, RunStage } from './pipelines.ts'

export interface Condition {
  readonly type: Constraint['type']
  /** `ahead`: it is checked later. */
  readonly state: 'met' | 'waits' | 'failed' | 'ahead'
  readonly text: string
  /** When it is met, in milliseconds since the epoch. */
  readonly untilMs?: number
  /** The run and stage that have checked it, and the analysis of a canary. */
  readonly run?: string
  readonly stage?: string
  readonly analysis?: string
}

interface Soak {
  readonly from: string
  /** Since when the version runs there, milliseconds since the epoch. */
  readonly sinceMs: number | undefined
  readonly now: number
}

const stageTypes: Readonly<Record<Constraint['type'], string>> = {
  judgment: 'manualJudgment',
  soakTime: 'promote',
  window: 'restrictExecutionDuringTimeWindow',
  canary: 'kayentaCanary',
  verification: 'verify',
}

const states: Readonly<Record<string, Condition['state']>> = {
  SUCCEEDED: 'met',
  SKIPPED: 'met',
  RUNNING: 'waits',
  PAUSED: 'waits',
  TERMINAL: 'failed',
  CANCELED: 'failed',
}

/** In the order of their check. @param checking The promotion that checks them, and its inner stages */
export function conditionsOf(
  { constraints }: Pick<Environment, 'constraints'>,
  soak: Soak,
  checking?: { readonly run: Run; readonly inner: readonly RunStage[] },
): Condition[] {
  const left = [...(checking?.inner ?? [])]
  return constraints.map((constraint) => {
    const at = left.findIndex(({ type }) => type === stageTypes[constraint.type])
    const [stage] = at === -1 ? [] : left.splice(at, 1)
    const scored = checking?.run.stages.findLast(({ context }) => context.canaryScore !== undefined)
    const isSoaked =
      constraint.type === 'soakTime' && describeSoak(toSoak(constraint, soak)) === undefined
    return {
      type: constraint.type,
      state: states[stage?.status ?? ''] ?? (isSoaked ? 'met' : 'ahead'),
      text: describe(constraint, { soak, stage, scored }),
      ...definedOf({
        untilMs: constraint.type === 'soakTime' ? soakedAt(toSoak(constraint, soak)) : undefined,
        run: stage && checking?.run.id,
        stage: stage?.id,
        analysis: constraint.type === 'canary' ? scored?.context.analysis : undefined,
      }),
    }
  })
}

function toSoak({ minutes = 0 }: Constraint, { from, sinceMs, now }: Soak) {
  return { from, minutes, sinceMs: sinceMs ?? now, now }
}

/** Undefined where nobody has answered. */
export function judgedWord(status = ''): string | undefined {
  return { continue: 'approved', stop: 'rejected' }[status.toLowerCase()]
}

interface Evidence {
  readonly soak: Soak
  readonly stage: RunStage | undefined
  readonly scored: RunStage | undefined
}

function describe(constraint: Constraint, { soak, stage, scored }: Evidence): string {
  const { type, minutes = 0, roles = [], checks = [], rollback } = constraint
  switch (type) {
    case 'judgment': {
      const {
        judgmentStatus,
        lastModifiedBy: user = 'a user',
        judgmentComment,
      } = stage?.context ?? {}
      const words = judgedWord(judgmentStatus)
      if (words !== undefined)
        return `${words} by ${user}${judgmentComment ? `: ${judgmentComment}` : ''}`
      const by = roles.length === 0 ? 'a user' : `a user with the role ${listRoles(roles)}`
      return stage?.status === 'RUNNING' ? describeJudgment(roles) : `needs the judgment of ${by}`
    }
    case 'soakTime': {
      const [count, unit] =
        minutes < 1 ? [Math.round(minutes * 60), 'second'] : [Math.round(minutes), 'minute']
      const span = `${count} ${unit}${count === 1 ? '' : 's'}`
      return (
        describeSoak(toSoak(constraint, soak)) ?? `has run in ${soak.from} for ${span} and more`
      )
    }
    case 'window':
      return 'deploys within its window only'
    case 'canary':
      return scored === undefined || stage === undefined
        ? 'needs the verdict of a canary analysis'
        : `canary: ${scored.context.canaryScore} of 100`
    case 'verification':
      return `verifies ${checks.map((check) => check.type).join(', ')} after the deployment${rollback === true ? '; if it fails, what ran before takes the traffic again' : ''}`
  }
}
