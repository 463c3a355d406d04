/** Reason of a refused SAML login, for the log only. */

/** Expected with hostile or misconfigured peers, unlike any other error, which is a defect. */
export class SamlRefused extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'SamlRefused'
  }
}

export function refuseUnless(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new SamlRefused(reason)
}

/** A value that came from outside, short enough for a log line. */
export function show(value: string | null | undefined): string {
  return value === null || value === undefined ? 'nothing' : `"${value.slice(0, 200)}"`
}
