/** Records the steps of a login for `fairlead explain login`; requests do not use it. */

/** `yes` and `no`: a condition holds or does not. `note`: what was found or done. */
export type StepVerdict = 'yes' | 'no' | 'note'

/** @param text For the operator: never a password or a token, nor part of one */
export type Trace = (verdict: StepVerdict, text: string) => void

/** Presented credentials, outside of any request. */
export type LoginCredentials =
  /** Without password: what is found about the user before it would be asked for. */
  | { readonly kind: 'password'; readonly username: string; readonly password: string | undefined }
  | { readonly kind: 'token'; readonly text: string }
  /** PEM; after the certificate of the client those between it and the trusted authority, if there are any. */
  | { readonly kind: 'certificate'; readonly pem: string }
  /** XML, or the base64 of the form field. @see RequestState for `baseUrl` */
  | { readonly kind: 'saml-response'; readonly text: string; readonly baseUrl: string }
  /** @param registration Of which provider they are; the first one unless given */
  | { readonly kind: 'id-token'; readonly text: string; readonly registration: string | undefined }
  | {
      readonly kind: 'claims'
      readonly claims: Readonly<Record<string, unknown>>
      readonly registration: string | undefined
    }

export function joinNames(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ')
}
