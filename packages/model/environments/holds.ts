/** What holds a promotion up, in words. */
import type { Constraint, Environment } from './declaration.ts'

const minuteMs = 60_000

interface SoakTime {
  /** The environment in which the version has to run for some time. */
  readonly from: string
  readonly minutes: number
  /** Since when it runs there, milliseconds since the epoch. */
  readonly sinceMs: number
  readonly now: number
}

/** Until when the version has to run there, milliseconds since the epoch. */
export function soakedAt({ minutes, sinceMs }: Pick<SoakTime, 'minutes' | 'sinceMs'>): number {
  return sinceMs + minutes * minuteMs
}

/** Undefined once the time is over. */
export function describeSoak(soak: SoakTime): string | undefined {
  const leftMs = soakedAt(soak) - soak.now
  if (leftMs <= 0) return undefined
  const minutes = Math.ceil(leftMs / minuteMs)
  return `waits for ${minutes} more ${minutes === 1 ? 'minute' : 'minutes'} of soak time in ${soak.from}`
}

export function describeJudgment(roles: readonly string[] = []): string {
  return `waits for the judgment of a user${roles.length === 0 ? '' : ` with the role ${listRoles(roles)}`}`
}

/** Why a user without these roles may not promote. */
export function describeMissingRole(
  { name, mayPromote = [] }: Pick<Environment, 'name' | 'mayPromote'>,
  user: string,
): string {
  return `${user} may not promote to ${name}: only users with the role ${listRoles(mayPromote)} may.`
}

export function listRoles(roles: readonly string[]): string {
  return roles.join(' or ')
}

/** What will hold a promotion up that begins now, in the order of the checks. */
export function foreseenHolds(
  { constraints }: Environment,
  { from, sinceMs, now }: { from: string; sinceMs: number | undefined; now: number },
): string[] {
  return constraints.flatMap(
    (constraint) => describeConstraint(constraint, { from, sinceMs: sinceMs ?? now, now }) ?? [],
  )
}

function describeConstraint(
  constraint: Constraint,
  soak: Omit<SoakTime, 'minutes'>,
): string | undefined {
  switch (constraint.type) {
    case 'judgment':
      return describeJudgment(constraint.roles)
    case 'soakTime':
      return describeSoak({ ...soak, minutes: constraint.minutes ?? 0 })
    case 'window':
      return 'deploys within its window only'
    case 'canary':
      return 'waits for the verdict of a canary analysis'
    case 'verification':
      return undefined
  }
}
