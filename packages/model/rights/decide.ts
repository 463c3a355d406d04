/** Decides from the view of a user whether a need is met. Calls no service. */
import type { Authorization, PermissionView } from './permissions.ts'
import { isGranted, isListed, mayUseServiceAccount } from './rights.ts'

export type Need =
  | { readonly kind: 'admin' }
  | { readonly kind: 'account-manager' }
  | {
      readonly kind: 'application'
      readonly name: string
      readonly authorization: Authorization
      /** What an application needs that the permission service does not list; by the setting for unknown ones unless given. */
      readonly whenUnknown?: 'nothing' | 'admin'
    }
  | {
      readonly kind: 'account' | 'build-service'
      readonly name: string
      readonly authorization: Authorization
    }
  | { readonly kind: 'service-account'; readonly name: string }
  /** Any of them is enough; at least one. */
  | { readonly kind: 'one-of'; readonly needs: readonly [Need, ...Need[]] }

interface Decision {
  readonly allowed: boolean
  readonly rule: string
}

/**
 * @param view Undefined when the permission service does not know the user
 * @see docs/contracts/permissions.md#decision
 */
export function decide(view: PermissionView | undefined, need: Need): Decision {
  return view === undefined
    ? denied('the permission service does not know the user')
    : decideNeed(view, need)
}

/** Whether nothing is demanded, as the permission service does not list the application. */
export function isLeftOpen(view: PermissionView, need: Need): boolean {
  return (
    need.kind === 'application' &&
    need.whenUnknown === 'nothing' &&
    !isListed(view, 'application', need.name)
  )
}

/** "WRITE on the application web". */
export function describeNeed(need: Need): string {
  switch (need.kind) {
    case 'admin':
      return 'an administrator'
    case 'account-manager':
      return 'an account manager'
    case 'service-account':
      return `the service account ${need.name}`
    case 'one-of':
      return describeNeed(need.needs[0])
    default:
      return `${need.authorization} on the ${need.kind.replace('-', ' ')} ${need.name}`
  }
}

function decideNeed(view: PermissionView, need: Need): Decision {
  if (view.admin) return allowed('administrators may do everything')
  if (
    view.legacyFallback === true &&
    (need.kind === 'application' || need.kind === 'build-service')
  ) {
    return allowed('the permission service is silent and `services.fiat.legacyFallback` is set')
  }
  switch (need.kind) {
    case 'admin':
      return denied('the user has no role of `fiat.admin.roles`')
    case 'account-manager':
      return view.accountManager === true
        ? allowed('the user manages accounts')
        : denied('the user does not manage accounts')
    case 'application':
      return decideApplication(view, need)
    case 'account':
    case 'build-service':
      return granted(view, need)
    case 'service-account':
      return mayUseServiceAccount(view, need.name)
        ? allowed('the user has the roles of the service account')
        : denied('the user lacks a role of the service account')
    case 'one-of': {
      const outcomes = need.needs.map((one) => decideNeed(view, one))
      return outcomes.find((one) => one.allowed) ?? (outcomes[0] as Decision)
    }
  }
}

function decideApplication(
  view: PermissionView,
  need: Extract<Need, { kind: 'application' }>,
): Decision {
  const { name, authorization, whenUnknown } = need
  if (isListed(view, 'application', name)) return granted(view, need)
  if (isLeftOpen(view, need))
    return allowed('the application is unknown, and nothing is demanded then')
  if (whenUnknown === 'admin')
    return denied('the application is unknown, and only administrators may do it then')
  return isGranted(view, 'application', name, authorization)
    ? allowed('the application is unknown, and unknown applications are open')
    : denied('the application is unknown, and unknown applications are closed')
}

function granted(
  view: PermissionView,
  { kind, name, authorization }: Extract<Need, { authorization: Authorization }>,
): Decision {
  const what = kind.replace('-', ' ')
  return isGranted(view, kind, name, authorization)
    ? allowed(`a role of the user has ${authorization} on the ${what}, or it is not restricted`)
    : denied(`no role of the user has ${authorization} on the ${what}`)
}

function allowed(rule: string): Decision {
  return { allowed: true, rule }
}

function denied(rule: string): Decision {
  return { allowed: false, rule }
}
