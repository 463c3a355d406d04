/** Names of values that no answer and no log shows. */

export const mask = '******'

const secretName =
  /pass(?:word|wd|phrase)?|secret|token|credential|(?<!^go)private|api_?key|access_?key|auth(?!or(?!i[sz]))|_key$/i
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

/** Members of Kubernetes' manifests that say where a secret is, and hold none. */
const secretReference = /(?:[Kk]ey|[Ss]ecret)Ref$|^secretName$/

export function looksSecret(name: string): boolean {
  return secretName.test(name) && !secretReference.test(name)
}

export function looksSecretHeader(name: string): boolean {
  return !openHeader.test(name) && (secretHeader.test(name) || looksSecret(name))
}

/** Whether the sender of an event proves itself by such a field of its payload. */
export function provesSender(name: string): boolean {
  return looksSecret(name) || /signature/i.test(name)
}

/** A copy of a shorter one is not recognised: its text stands in too many others. */
const minLength = 6
/** Values that are no secrets, although their name looks like one: they stand in texts of all kinds. */
const commonWords: ReadonlySet<string> = new Set([
  'account',
  'anonymous',
  'changeme',
  'default',
  'disabled',
  'enabled',
  'internal',
  'kubernetes',
  'latest',
  'localhost',
  'master',
  'optional',
  'password',
  'private',
  'production',
  'public',
  'release',
  'required',
  'secret',
  'staging',
])

/** Whether copies of a secret are searched for; the secret itself is masked in any case. */
export function isRecognisable(secret: string): boolean {
  return secret.length >= minLength && !commonWords.has(secret.toLowerCase())
}

/** @param secrets Longest first: one may be part of another. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, mask), text)
}
