/**
 * A real control plane of Kubernetes with simulated nodes, shared by the tests of a process.
 *
 *     const kubernetes = await startControlPlane(t)
 *     if (kubernetes === undefined) return // skipped: the programs are missing
 *     const namespace = await kubernetes.namespace()
 *     await kubernetes.api.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, deployment)
 *     await waitUntil(async () => (await kubernetes.api.get(path)).status['readyReplicas'] === 2, 'ready replicas')
 *
 * Each test has namespaces of its own, which end with it, as do its rights and rules. Pods run and are ready at once, those of
 * jobs succeed after 0.1 s. Otherwise by the name of the image, whatever its registry: `bad:1` cannot be pulled, `crash:1` ends
 * with 3 again and again, `unready:1` is never ready, `unschedulable:1` gets no node, `slow:500` is ready after 500 ms (a job:
 * ends after them), `exit:3` ends with 3, `run-forever:1` keeps a job running. Annotations of pods do the same for any image:
 * `test.fairlead/exit-code: "3"`, `test.fairlead/never-ready: "true"`; `test.fairlead/log` and `test.fairlead/previous-log` are
 * what their containers write. `kubernetes.nodes` overrides all of that, also later. A job that may retry waits 10 s before it
 * does: use `backoffLimit: 0`. A deleted namespace with pods goes after half of their `terminationGracePeriodSeconds`. Metrics are
 * not served; claims of volumes stay Pending and load balancers get no address, so a test writes their status.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { Issued } from './authority.ts'
import type { KubernetesClient } from './kubernetes-client.ts'
import { openProcesses, type Processes, users } from './kubernetes-control-plane.ts'
import type { Nodes } from './kubernetes-nodes.ts'
import { type KubernetesPrograms, needsKubernetes } from './kubernetes-programs.ts'
import { waitUntil } from './wait-until.ts'

/** A rule of RBAC. */
export interface Rule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly verbs: readonly string[]
}

export interface ControlPlane {
  /** `https://127.0.0.1:port` */
  readonly server: string
  readonly caFile: string
  /** `admin` may do everything, `limited` nothing until it is granted; `user()` names others that are like it. */
  token(user?: string): string
  /** A name that no other test of the process has used. */
  user(): string
  /** YAML, with the token of the user. */
  kubeconfig(user?: string): string
  /** The path of a file with it. */
  kubeconfigFile(user?: string): string
  /** A certificate by which the API server knows the user, in place of a token. */
  certificate(user: string, groups?: readonly string[]): Promise<Issued>
  /** As `admin`. */
  readonly api: KubernetesClient
  clientOf(user: string): KubernetesClient
  /** As `admin`; `--kubeconfig` and the like may be given, too. @throws {Error} with what it wrote, when it fails. */
  kubectl(...args: string[]): Promise<{ stdout: string; stderr: string }>
  /** A new namespace, with its default service account. */
  namespace(prefix?: string): Promise<string>
  /** Rights in a namespace or, without one, everywhere; they hold when this resolves. */
  grant(user: string, rules: readonly Rule[], namespace?: string): Promise<void>
  /** Simulated nodes; rules of `behave` end with the test. */
  readonly nodes: Pick<Nodes, 'names' | 'behave' | 'setLog'>
  /** Kills the API server and starts it on the same port with the same data. */
  restart(): Promise<void>
  stopApiServer(): Promise<void>
  /** A test that has stopped it need not start it: the next one finds it running. */
  startApiServer(): Promise<void>
  /** Of etcd, the API server and the controllers. */
  pids(): number[]
}

const runFile = promisify(execFile)
const maxOutputBytes = 64 * 1024 ** 2

let opened: Promise<Processes> | undefined
let namedUsers = 1
after(async () => {
  await (await opened)?.close()
})

/** Undefined when it is not built; the test is skipped then. */
export async function startControlPlane(t: TestContext): Promise<ControlPlane | undefined> {
  const programs = needsKubernetes(t)
  if (programs === undefined) return undefined
  opened ??= openProcesses(programs)
  return toControlPlane(t, await opened, programs)
}

function toControlPlane(
  t: TestContext,
  processes: Processes,
  programs: KubernetesPrograms,
): ControlPlane {
  const { folder, server, ca, nodes, tokenOf, clientOf, kubeconfigOf, startApiServer } = processes
  const api = clientOf('admin')
  const kubeconfigFile = (user: string) => {
    const file = join(folder, 'kubeconfigs', `${user}.yaml`)
    writeFileSync(file, kubeconfigOf(user), { mode: 0o600 })
    return file
  }
  return {
    server,
    caFile: join(folder, 'ca.pem'),
    token: (user = 'admin') => tokenOf(user),
    user: nextUser,
    kubeconfig: (user = 'admin') => kubeconfigOf(user),
    kubeconfigFile: (user = 'admin') => kubeconfigFile(user),
    certificate: (user, groups = []) =>
      ca.issue({ subject: [...groups.map((group) => `O=${group}`), `CN=${user}`].join(', ') }),
    api,
    clientOf,
    kubectl: (...args) => {
      const env = {
        PATH: process.env['PATH'],
        HOME: folder,
        KUBECONFIG: kubeconfigFile('admin'),
        GOGC: 'off',
      }
      return runFile(programs.kubectl, args, { env, cwd: folder, maxBuffer: maxOutputBytes })
    },
    namespace: (prefix = 'test') => createNamespace(t, api, prefix),
    grant: (user, rules, namespace) => grant(t, api, { user, rules, namespace }),
    nodes: {
      ...nodes,
      behave: (applies, behaviour) => endWith(t, nodes.behave(applies, behaviour)),
    },
    restart: startApiServer,
    stopApiServer: async () => {
      t.after(async () => (await isServing(api)) || startApiServer())
      await processes.stopApiServer()
    },
    startApiServer,
    pids: processes.pids,
  }
}

function nextUser(): string {
  const user = users[++namedUsers]
  if (user === undefined)
    throw new Error('all users are taken: add more to test/support/kubernetes-control-plane.ts')
  return user
}

async function isServing(api: KubernetesClient): Promise<boolean> {
  return (await api.call('/readyz').catch(() => undefined)) !== undefined
}

function endWith(t: TestContext, end: () => void): () => void {
  t.after(end)
  return end
}

async function createNamespace(
  t: TestContext,
  api: KubernetesClient,
  prefix: string,
): Promise<string> {
  const name = `${prefix}-${randomBytes(4).toString('hex')}`
  await api.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  })
  // Controllers empty it later, if the API server is there at all.
  t.after(() => api.delete(`/api/v1/namespaces/${name}`).catch(() => {}))
  const account = `/api/v1/namespaces/${name}/serviceaccounts/default`
  await waitUntil(
    async () => (await api.find(account)) !== undefined,
    `the service account of ${name}`,
  )
  return name
}

interface Grant {
  readonly user: string
  readonly rules: readonly Rule[]
  readonly namespace: string | undefined
}

async function grant(
  t: TestContext,
  api: KubernetesClient,
  { user, rules, namespace }: Grant,
): Promise<void> {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role'
  const group = 'rbac.authorization.k8s.io'
  const folder = `/apis/${group}/v1${namespace === undefined ? '' : `/namespaces/${namespace}`}`
  const name = `test-${randomBytes(4).toString('hex')}`
  const roles = `${folder}/${kind.toLowerCase()}s`
  const bindings = `${folder}/${kind.toLowerCase()}bindings`
  t.after(() =>
    Promise.all([roles, bindings].map((path) => api.delete(`${path}/${name}`).catch(() => {}))),
  )
  await api.create(roles, { apiVersion: `${group}/v1`, kind, metadata: { name }, rules })
  await api.create(bindings, {
    apiVersion: `${group}/v1`,
    kind: `${kind}Binding`,
    metadata: { name },
    roleRef: { apiGroup: group, kind, name },
    subjects: [{ apiGroup: group, kind: 'User', name: user }],
  })
  for (const rule of rules) {
    await waitUntil(
      () => isAllowed(api, user, rule, namespace),
      `the right of ${user} to ${JSON.stringify(rule)}`,
    )
  }
}

/** The API server learns of new rules a moment later. */
async function isAllowed(
  api: KubernetesClient,
  user: string,
  rule: Rule,
  namespace = '',
): Promise<boolean> {
  const [verb] = rule.verbs
  const [resource, subresource] = (rule.resources?.[0] ?? '').split('/')
  const attributes =
    rule.nonResourceURLs === undefined
      ? {
          resourceAttributes: {
            group: rule.apiGroups?.[0] ?? '',
            resource,
            subresource,
            name: rule.resourceNames?.[0],
            verb,
            namespace,
          },
        }
      : { nonResourceAttributes: { path: rule.nonResourceURLs[0], verb } }
  const apiVersion = 'authorization.k8s.io/v1'
  const review = { apiVersion, kind: 'SubjectAccessReview', spec: { user, ...attributes } }
  const { status } = await api.create(`/apis/${apiVersion}/subjectaccessreviews`, review)
  return status['allowed'] === true
}
