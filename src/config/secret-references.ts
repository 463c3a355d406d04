/** Secrets that Spinnaker writes as `encrypted:engine!n:name!k:key`. */

export const secretReference = /^encrypted(?:File)?:/

/** What to write instead, by the engine of kork. */
const remedies: Readonly<Record<string, string>> = {
  s3: 'have the init container or the pipeline of your deployment fetch the object',
  gcs: 'have the init container or the pipeline of your deployment fetch the object',
  'secrets-manager': 'mount it with the Secrets Store CSI driver, or with External Secrets',
  vault: 'have the Vault agent write it, or use External Secrets',
  k8s: 'mount the Kubernetes secret, or name it in env.valueFrom.secretKeyRef',
  kubernetes: 'mount the Kubernetes secret, or name it in env.valueFrom.secretKeyRef',
  'secret-engine': 'mount the Kubernetes secret, or name it in env.valueFrom.secretKeyRef',
}

export type ResolvedSecret =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'problem'; readonly message: string }

/**
 * The engine `noop` holds the value itself. Others need a store that Fairlead does not call: a start must not depend on it, and its
 * credentials do not belong to a gateway.
 */
export function resolveSecret(text: string): ResolvedSecret {
  const isFile = text.startsWith('encryptedFile:')
  const [engine = '', ...parts] = text.replace(secretReference, '').split('!')
  const value = parts.find((part) => part.startsWith('v:'))
  if (engine === 'noop' && value !== undefined && !isFile) return { kind: 'value', text: value.slice(2) }
  const advice = remedies[engine] ?? 'put it where the process can read it'
  const reference = isFile ? 'name the path of the file here' : 'refer to it with $'.concat('{VARIABLE}')
  return {
    kind: 'problem',
    message: `the secret engine "${engine}" is not called by Fairlead; ${advice}, and ${reference}`,
  }
}
