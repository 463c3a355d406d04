/** Access of a pod to the cluster that it runs in, with its service account. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClusterAccess } from './cluster-access.ts'
import { KubeconfigError } from './kubeconfig.ts'

interface PodSurroundings {
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
  readonly host: string | undefined
  readonly port: string | undefined
  /** Where Kubernetes mounts the service account; its usual folder unless given. */
  readonly folder?: string
}

/** @throws {KubeconfigError} */
export async function inClusterAccess({
  host,
  port,
  folder = '/var/run/secrets/kubernetes.io/serviceaccount',
}: PodSurroundings): Promise<ClusterAccess> {
  if (!host || !port) {
    const missing = 'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set'
    throw new KubeconfigError(
      `serviceAccount: Fairlead does not run in a pod: ${missing}; use a kubeconfig instead`,
    )
  }
  const [certificateAuthority, namespace = 'default'] = await Promise.all([
    read(folder, 'ca.crt'),
    read(folder, 'namespace'),
  ])
  if (certificateAuthority === undefined) {
    const file = join(folder, 'ca.crt')
    throw new KubeconfigError(
      `serviceAccount: ${file} cannot be read; let the pod mount its service account (automountServiceAccountToken)`,
    )
  }
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    certificateAuthority,
    login: { kind: 'token-file', file: join(folder, 'token') },
    namespace: namespace.trim() || 'default',
  }
}

async function read(folder: string, name: string): Promise<string | undefined> {
  try {
    return await readFile(join(folder, name), 'utf8')
  } catch {
    return undefined
  }
}
