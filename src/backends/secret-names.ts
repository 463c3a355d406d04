/** Names of values that no answer and no log shows. */

export const mask = '******'

const secretName = /pass(?:word|wd|phrase)?|secret|token|credential|private|api_?key|access_?key|auth(?!or(?!i[sz]))|_key$/i
const secretHeader = /cookie|-key$|api-?key|signature/i
/** They tell of credentials, and hold none. */
const openHeader = /^access-control-|-authenticate$/i

/** The password of an address such as `postgres://shop:word@db`, up to the last `@`. */
const addressPassword = /(:\/\/[^\s:/?#@]*:)([^\s/?#]+)(?=@)/g

export function passwordsIn(text: string): string[] {
  return [...text.matchAll(addressPassword)].map(([, , password = '']) => password)
}

export function withoutPasswords(text: string): string {
  return text.replace(addressPassword, `$1${mask}`)
}

export function looksSecret(name: string): boolean {
  return secretName.test(name)
}

export function looksSecretHeader(name: string): boolean {
  return !openHeader.test(name) && (secretHeader.test(name) || looksSecret(name))
}

/** @param secrets Longest first: one may be part of another. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, mask), text)
}
