/** Reason of a failed login, for the log. */

export class LoginFailure extends Error {
  /** `unavailable`: the provider does not answer, or failed itself. */
  readonly kind: 'refused' | 'unavailable'

  /** @param reason For the log. Never a token, code or secret. */
  constructor(kind: 'refused' | 'unavailable', reason: string) {
    super(reason)
    this.name = 'LoginFailure'
    this.kind = kind
  }
}

/** What a provider sent, in a form that a line of the log can hold. */
export function quote(text: unknown, secrets: readonly (string | undefined)[] = []): string {
  let shown = typeof text === 'string' ? text : ''
  for (const secret of secrets) if (secret) shown = shown.replaceAll(secret, '***')
  return JSON.stringify(shown.replaceAll(/[^\x20-\x7e]/g, ' ').slice(0, 300))
}
