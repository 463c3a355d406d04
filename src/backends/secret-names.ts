/** Names of values that no answer and no log shows. */

export const mask = '******'

const secretName = /pass(?:word|wd|phrase)?|secret|token|credential|private|api_?key|access_?key|auth|_key$/i

export function looksSecret(name: string): boolean {
  return secretName.test(name)
}

/** @param secrets Longest first: one may be part of another. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, mask), text)
}
