/** Rules that give permissions to applications by name prefix, as in Fiat. */
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { addPermissions, type RolesByAuthorization } from './authorizations.ts'

interface ApplicationRule {
  name: string
  /** Whether the rule is about every name that begins so; otherwise about this one alone. */
  isPrefix: boolean
  permissions: RolesByAuthorization
}

export interface ApplicationRules {
  rules: readonly ApplicationRule[]
  /** If several rules fit, all count, or the one with the whole name or the longest prefix. */
  strategy: 'AGGREGATE' | 'MOST_SPECIFIC'
}

/** @param pattern `web` or `web-*` */
export function toApplicationRule(
  pattern: string,
  permissions: RolesByAuthorization,
): ApplicationRule {
  const isPrefix = pattern.trim().endsWith('*')
  return { name: foldName(isPrefix ? pattern.trim().slice(0, -1) : pattern), isPrefix, permissions }
}

export function permissionsByRule(
  { rules, strategy }: ApplicationRules,
  application: string,
): RolesByAuthorization {
  const name = foldName(application)
  const fitting = rules.filter((rule) =>
    rule.isPrefix ? name.startsWith(rule.name) : name === rule.name,
  )
  if (strategy === 'AGGREGATE') return addPermissions(fitting.map(({ permissions }) => permissions))
  const [longest] = fitting.toSorted((one, other) => other.name.length - one.name.length)
  return (fitting.find(({ isPrefix }) => !isPrefix) ?? longest)?.permissions ?? {}
}
