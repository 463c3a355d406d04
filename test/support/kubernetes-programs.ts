/** Programs of the control plane that `scripts/install-test-kubernetes.sh` builds, and etcd. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { needs } from './debian.ts'

export interface KubernetesPrograms {
  readonly etcd: string
  readonly apiServer: string
  readonly controllerManager: string
  readonly kubectl: string
}

const root = resolve(import.meta.dirname, '../..')
const names = { apiServer: 'kube-apiserver', controllerManager: 'kube-controller-manager', kubectl: 'kubectl' } as const

/**
 * Paths of the programs. Without them the test is skipped and must return; where CI has Go nothing may be skipped, so it fails.
 *
 * @throws {Error} in CI, when Go is installed and a program is missing.
 */
export function needsKubernetes(t: TestContext): KubernetesPrograms | undefined {
  const folder = programFolders().find(hasPrograms)
  if (folder !== undefined) return withEtcd(t, folder)
  const problem = 'Kubernetes is not built: run scripts/install-test-kubernetes.sh, which needs Go'
  if (process.env['CI'] === 'true' && hasGo()) throw new Error(problem)
  t.skip(problem)
  return undefined
}

/** By convention `KUBEBUILDER_ASSETS` names a folder with such programs, often without the controllers; then the cache. */
function programFolders(): string[] {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return [process.env['KUBEBUILDER_ASSETS'] ?? '', join(cache, 'fairlead', `kubernetes-${kubernetesVersion()}`)].filter(Boolean)
}

function hasPrograms(folder: string): boolean {
  return Object.values(names).every((name) => isExecutable(join(folder, name)))
}

/** Such as `1.34.3`. */
export function kubernetesVersion(): string {
  const [, version = ''] =
    /^require k8s\.io\/kubernetes v(\S+)$/m.exec(readFileSync(join(root, 'scripts/kubernetes/go.mod'), 'utf8')) ?? []
  return version
}

function withEtcd(t: TestContext, folder: string): KubernetesPrograms | undefined {
  const own = join(folder, 'etcd')
  const etcd = isExecutable(own) ? own : needs(t, 'etcd')
  if (etcd === undefined) return undefined
  return {
    etcd,
    apiServer: join(folder, names.apiServer),
    controllerManager: join(folder, names.controllerManager),
    kubectl: join(folder, names.kubectl),
  }
}

function hasGo(): boolean {
  return spawnSync('go', ['version'], { stdio: 'ignore' }).status === 0
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
