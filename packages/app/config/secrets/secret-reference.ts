/** Secrets that Spinnaker writes as `encrypted:engine!n:name!k:key`, in the syntax of kork. */
import type { EnvironmentVariables } from '../environment.ts'

export interface EngineReference {
  readonly engine: string
  /** The setting wants the path of a file: `encryptedFile:`. */
  readonly isFile: boolean
  readonly params: ReadonlyMap<string, string>
}

export type ResolvedSecret =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'file'; readonly text: string }
  | { readonly kind: 'problem'; readonly message: string }

export interface SecretPlaces {
  readonly env: EnvironmentVariables
  /** The directory with `token`, `ca.crt` and `namespace` of the pod. */
  readonly serviceAccountDir: string
}

/** Why there is no value, and what to do; the text holds nothing of the secret. */
export class SecretError extends Error {}

const prefix = /^encrypted(?:File)?:/

export function isSecretReference(text: string): boolean {
  return prefix.test(text)
}

export function parseEngineReference(text: string): EngineReference {
  const [engine = '', ...parts] = text.replace(prefix, '').trim().split('!')
  const params = parts.map((part) => {
    const colon = part.indexOf(':')
    return colon === -1
      ? ([part, ''] as const)
      : ([part.slice(0, colon), part.slice(colon + 1)] as const)
  })
  return { engine, isFile: text.startsWith('encryptedFile:'), params: new Map(params) }
}

/** @throws {SecretError} naming the parameter */
export function paramOf({ params }: EngineReference, name: string, meaning: string): string {
  const value = params.get(name)
  if (!value) throw new SecretError(`the ${meaning} is missing; write it as !${name}:…`)
  return value
}

/** @throws {SecretError} naming the environment variable */
export function variableOf(env: EnvironmentVariables, name: string): string {
  const value = env[name]
  if (!value)
    throw new SecretError(`the environment variable ${name} is not set; set it for this process`)
  return value
}

/** Shorter values would blacken words that have nothing to do with them. */
const shortestHidden = 4

/** The text with `***` in place of values that were fetched. */
export function hideSecrets(text: string, secrets: Iterable<ResolvedSecret>): string {
  let shown = text
  for (const secret of secrets) {
    if (secret.kind !== 'value') continue
    if (secret.text === text) return '***'
    if (secret.text.length >= shortestHidden) shown = shown.replaceAll(secret.text, '***')
  }
  return shown
}
