/** Programs that `scripts/install-test-kubernetes.sh` builds: the control plane, Helm, Litestream, a store, Pebble; and etcd. */
import { accessSync, constants, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { findProgram, needs } from './debian.ts'

export interface KubernetesPrograms {
  readonly etcd: string
  readonly apiServer: string
  readonly controllerManager: string
  readonly kubectl: string
}

const root = resolve(import.meta.dirname, '../..')
const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'fairlead')
const names = {
  apiServer: 'kube-apiserver',
  controllerManager: 'kube-controller-manager',
  kubectl: 'kubectl',
} as const

/**
 * Paths of the programs. Without them the test is skipped and must return; where CI has Go nothing may be skipped, so it fails.
 *
 * @throws {Error} in CI, when Go is installed and a program is missing.
 */
export function needsKubernetes(t: Pick<TestContext, 'skip'>): KubernetesPrograms | undefined {
  const folder = programFolders().find(hasPrograms)
  if (folder !== undefined) return withEtcd(t, folder)
  return isMissing(t, 'Kubernetes')
}

/** The path of Helm, under the rule of `needsKubernetes`: the version that is built, because its output is compared, or any other one. */
export function needsHelm(t: TestContext): string | undefined {
  return findHelm() ?? isMissing(t, 'Helm')
}

/** The folder of Litestream, under the rule of `needsKubernetes`. */
export function needsLitestream(t: TestContext): string | undefined {
  return findLitestream() ?? isMissing(t, 'Litestream')
}

export function findLitestream(): string | undefined {
  const folder = join(
    cache,
    `litestream-${versionOf('litestream', 'github.com/benbjohnson/litestream')}`,
  )
  return isExecutable(join(folder, 'litestream')) ? folder : undefined
}

/** The program of an S3-compatible store, under the rule of `needsKubernetes`. */
export function needsObjectStore(t: TestContext): string | undefined {
  const path = join(
    cache,
    `s3-store-${versionOf('s3-store', 'github.com/rclone/gofakes3')}`,
    's3-store',
  )
  return isExecutable(path) ? path : isMissing(t, 'The S3-compatible store')
}

/** The folder of Pebble and its name server, under the rule of `needsKubernetes`. */
export function needsPebble(t: Pick<TestContext, 'skip'>): string | undefined {
  const folder = join(cache, `pebble-${versionOf('pebble', 'github.com/letsencrypt/pebble/v2')}`)
  return isExecutable(join(folder, 'pebble')) ? folder : isMissing(t, 'Pebble')
}

export function findHelm(): string | undefined {
  const own = join(cache, `helm-${versionOf('helm', 'helm.sh/helm/v3')}`, 'helm')
  return isExecutable(own) ? own : findProgram('helm')
}

function isMissing(t: Pick<TestContext, 'skip'>, what: string): undefined {
  const problem = `${what} is not built (npm run test:setup, which needs Go)`
  if (process.env['CI'] === 'true' && findProgram('go') !== undefined) throw new Error(problem)
  t.skip(problem)
}

/** By convention `KUBEBUILDER_ASSETS` names a folder with such programs, often without the controllers; then the cache. */
function programFolders(): string[] {
  return [
    process.env['KUBEBUILDER_ASSETS'] ?? '',
    join(cache, `kubernetes-${kubernetesVersion()}`),
  ].filter(Boolean)
}

function hasPrograms(folder: string): boolean {
  return Object.values(names).every((name) => isExecutable(join(folder, name)))
}

/** Such as `1.34.3`. */
export function kubernetesVersion(): string {
  return versionOf('kubernetes', 'k8s.io/kubernetes')
}

function versionOf(folder: string, module: string): string {
  const words = readFileSync(join(root, 'scripts', folder, 'go.mod'), 'utf8').split(/\s+/)
  return (words[words.indexOf(module) + 1] ?? '').slice(1)
}

function withEtcd(t: Pick<TestContext, 'skip'>, folder: string): KubernetesPrograms | undefined {
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

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
