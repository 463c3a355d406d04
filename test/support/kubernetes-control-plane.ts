/** Processes of a control plane: etcd, the API server and the controllers, on loopback. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Agent } from 'undici'
import { stringify } from 'yaml'
import { type Authority, createAuthority, type Issued } from './authority.ts'
import { freePort } from './free-port.ts'
import { createClient, createDispatcher, type KubernetesClient } from './kubernetes-client.ts'
import { type Nodes, startNodes } from './kubernetes-nodes.ts'
import type { KubernetesPrograms } from './kubernetes-programs.ts'
import { type LoggedProcess, startProcess } from './logged-process.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'

/** All of it, as one process of tests shares it. */
export interface Processes {
  readonly folder: string
  readonly server: string
  readonly ca: Authority
  readonly nodes: Nodes
  tokenOf(user: string): string
  clientOf(user: string): KubernetesClient
  kubeconfigOf(user: string): string
  stopApiServer(): Promise<void>
  startApiServer(): Promise<void>
  /** Of those that run. */
  pids(): number[]
  close(): Promise<void>
}

/** The names of users; those after the first may do nothing until a test grants it. */
export const users: readonly string[] = [
  'admin',
  'limited',
  ...Array.from({ length: 50 }, (_, index) => `limited-${index + 1}`),
]

/** What a kubelet, a scheduler or a cloud would be needed for is left out. */
const controllers = [
  'clusterrole-aggregation-controller',
  'cronjob-controller',
  'daemonset-controller',
  'deployment-controller',
  'disruption-controller',
  'endpoints-controller',
  'endpointslice-controller',
  'garbage-collector-controller',
  'job-controller',
  'namespace-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
  'replicaset-controller',
  'serviceaccount-controller',
  'statefulset-controller',
  'ttl-after-finished-controller',
]

/** A socket of etcd 3.4 is named like a host with a port, in its working directory. */
const etcdSocket = 'client:1'
const portAttempts = 3

/** @param flags Further ones of the API server */
export async function openProcesses(
  programs: KubernetesPrograms,
  flags: readonly string[] = [],
): Promise<Processes> {
  const folder = createFolder('kubernetes')
  const ca = await createAuthority('CN=kubernetes-test')
  const tokens = new Map(users.map((user) => [user, `${user}.${randomBytes(16).toString('hex')}`]))
  const serving = await writeFiles(folder, ca, tokens)
  const dispatcher = createDispatcher(ca.certificate)
  const etcd = await startEtcd(folder, programs.etcd)
  const start = (port: number) => startApiServer(folder, programs.apiServer, port, flags)
  const { port, apiServer } = await startOnFreePort(start, tokens.get('admin') ?? '', dispatcher)
  const server = `https://127.0.0.1:${port}`
  const access = createAccess(server, ca, tokens, dispatcher)
  const api = access.clientOf('admin')
  writeFileSync(join(folder, 'controllers.kubeconfig'), access.kubeconfigOf('admin'), {
    mode: 0o600,
  })
  const running: Running = {
    apiServer,
    controllers: startControllers(folder, programs.controllerManager),
  }
  const nodes = await startNodes(api, serving)
  await running.controllers.until(() => isServed(api), 'the controllers')
  const stopApiServer = () => stop(running)
  const startAgain = async () => {
    await stop(running)
    running.apiServer = start(port)
    await running.apiServer.until(() => isReady(api), 'the API server')
    running.controllers = startControllers(folder, programs.controllerManager)
    await running.controllers.until(() => isServed(api), 'the controllers')
  }
  const pids = () => [etcd.pid, running.apiServer.pid, running.controllers.pid]
  const close = async () => {
    await nodes.close()
    await stop(running)
    await etcd.kill()
    await dispatcher.destroy()
    removeFolder(folder)
  }
  return {
    folder,
    server,
    ca,
    nodes,
    ...access,
    stopApiServer,
    startApiServer: startAgain,
    pids,
    close,
  }
}

interface Running {
  apiServer: LoggedProcess
  controllers: LoggedProcess
}

/** Controllers that lost their watches would wait longer and longer before they ask again, so they end, too. */
async function stop({ apiServer, controllers }: Running): Promise<void> {
  await Promise.all([controllers.kill(), apiServer.kill()])
}

function createAccess(
  server: string,
  ca: Authority,
  tokens: ReadonlyMap<string, string>,
  dispatcher: Agent,
) {
  const tokenOf = (user: string) => known(tokens, user)
  return {
    tokenOf,
    clientOf: (user: string) => createClient(server, tokenOf(user), dispatcher),
    kubeconfigOf: (user: string) =>
      formatKubeconfig({ server, ca: ca.certificate, user, token: tokenOf(user) }),
  }
}

/** @returns the certificate of what listens */
async function writeFiles(
  folder: string,
  ca: Authority,
  tokens: ReadonlyMap<string, string>,
): Promise<Issued> {
  const serving = await ca.issue({
    subject: 'CN=kubernetes',
    hosts: ['127.0.0.1', 'localhost'],
    usage: 'server',
  })
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const lines = [...tokens].map(
    ([user, token]) => `${token},${user},${user}${user === 'admin' ? ',"system:masters"' : ''}`,
  )
  const files = {
    'ca.pem': ca.certificate,
    'serving.pem': serving.cert,
    'serving-key.pem': serving.key,
    'accounts-key.pem': String(privateKey.export({ type: 'sec1', format: 'pem' })),
    'accounts.pem': String(publicKey.export({ type: 'spki', format: 'pem' })),
    'tokens.csv': `${lines.join('\n')}\n`,
  }
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(folder, name), text, { mode: 0o600 })
  mkdirSync(join(folder, 'kubeconfigs'))
  return serving
}

async function startEtcd(folder: string, program: string): Promise<LoggedProcess> {
  const urls = ['--listen-client-urls', '--advertise-client-urls'].map(
    (name) => `${name}=unix://${etcdSocket}`,
  )
  const peers = ['--listen-peer-urls', '--initial-advertise-peer-urls'].map(
    (name) => `${name}=unix://peer:1`,
  )
  const data = [
    `--data-dir=${join(folder, 'etcd')}`,
    '--initial-cluster=default=unix://peer:1',
    '--log-level=warn',
    '--logger=zap',
  ]
  const etcd = startProcess(folder, program, [...urls, ...peers, ...data])
  await etcd.until(() => existsSync(join(folder, etcdSocket)), 'the socket of etcd')
  return etcd
}

/** Another program may take the port before the API server does, which then ends. */
async function startOnFreePort(
  start: (port: number) => LoggedProcess,
  token: string,
  dispatcher: Agent,
) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const apiServer = start(port)
    const api = createClient(`https://127.0.0.1:${port}`, token, dispatcher)
    try {
      await apiServer.until(() => isReady(api), 'the API server')
      return { port, apiServer }
    } catch (error) {
      await apiServer.kill()
      if (attempt === portAttempts) throw error
    }
  }
}

function startApiServer(
  folder: string,
  program: string,
  port: number,
  flags: readonly string[],
): LoggedProcess {
  return startProcess(folder, program, [
    `--etcd-servers=unix://${join(folder, etcdSocket)}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    '--tls-cert-file=serving.pem',
    '--tls-private-key-file=serving-key.pem',
    '--cert-dir=certificates',
    '--client-ca-file=ca.pem',
    '--token-auth-file=tokens.csv',
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-account-signing-key-file=accounts-key.pem',
    '--service-account-key-file=accounts.pem',
    // Pods carry no tokens, and the nodes are ready from the start.
    '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--kubelet-certificate-authority=ca.pem',
    '--kubelet-preferred-address-types=InternalIP',
    '--profiling=false',
    ...flags,
  ])
}

function startControllers(folder: string, program: string): LoggedProcess {
  return startProcess(folder, program, [
    '--kubeconfig=controllers.kubeconfig',
    `--controllers=${controllers.join(',')}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=1000',
    '--kube-api-burst=2000',
    '--profiling=false',
  ])
}

/** A test process may ask before anything listens. */
async function isReady(api: KubernetesClient): Promise<boolean> {
  const answer = await api.call('/readyz').catch(() => undefined)
  return answer?.status === 200
}

/** The last thing that a namespace receives is its account, from a controller. */
async function isServed(api: KubernetesClient): Promise<boolean> {
  const account = await api
    .find('/api/v1/namespaces/default/serviceaccounts/default')
    .catch(() => undefined)
  return account !== undefined
}

function known(tokens: ReadonlyMap<string, string>, user: string): string {
  const token = tokens.get(user)
  if (token === undefined)
    throw new Error(`no such user: ${user}; these exist: ${[...tokens.keys()].join(', ')}`)
  return token
}

function formatKubeconfig(given: {
  server: string
  ca: string
  user: string
  token: string
}): string {
  const { server, ca, user, token } = given
  const data = Buffer.from(ca).toString('base64')
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': data } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user } }],
    'current-context': 'test',
  })
}
