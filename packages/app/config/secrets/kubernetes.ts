/** Secrets of Kubernetes, read from the API server as the service account of the pod: `k8s!n:secret!k:key`, with `!ns:` elsewhere. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callStore, parseStoreAnswer } from './call-store.ts'
import {
  type EngineReference,
  paramOf,
  SecretError,
  type SecretPlaces,
  variableOf,
} from './secret-reference.ts'

/** @throws {SecretError} */
export async function readKubernetesSecret(
  reference: EngineReference,
  { env, serviceAccountDir }: SecretPlaces,
): Promise<Buffer> {
  const name = paramOf(reference, 'n', 'name of the secret')
  const key = paramOf(reference, 'k', 'key')
  const host = variableOf(env, 'KUBERNETES_SERVICE_HOST')
  const file = (part: string) => readAccountFile(join(serviceAccountDir, part))
  const namespace = reference.params.get('ns') ?? (await file('namespace'))
  const [token, ca] = [await file('token'), await file('ca.crt')]
  const shown = `the secret "${name}" of the namespace "${namespace}"`
  const address = `https://${host.includes(':') ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] ?? '443'}`
  const bytes = await callStore({
    name: 'Kubernetes',
    url: new URL(
      `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`,
      address,
    ),
    headers: { accept: 'application/json', authorization: `Bearer ${token}` },
    tls: { ca },
    advice: {
      401: 'it does not accept the token of the service account',
      403: `let a Role and a RoleBinding allow the service account "get" for ${shown}`,
      404: `create ${shown}, or correct its name`,
    },
  })
  const { data = {} } = parseStoreAnswer<{ data?: Record<string, string> }>('Kubernetes', bytes)
  const value = Object.hasOwn(data, key) ? data[key] : undefined
  if (value === undefined)
    throw new SecretError(
      `${shown} has no key "${key}"; its keys are ${Object.keys(data).join(', ')}`,
    )
  return Buffer.from(value, 'base64')
}

async function readAccountFile(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch {
    throw new SecretError(
      `${path} cannot be read; run in a pod with automountServiceAccountToken: true`,
    )
  }
}
