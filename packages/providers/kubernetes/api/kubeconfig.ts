/** Kubeconfigs: the cluster and the login of a context. */
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import {
  asGiven,
  list,
  maybeObject,
  or,
  type Reader,
  type ShapeOf,
  shape,
} from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isObject,
  isTrue,
  type JsonObject,
  objectOf,
  scalarOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { parseYaml } from '@fairlead/base/json/yaml.ts'
import { withoutSlash } from '@fairlead/base/settings/setting.ts'
import type {
  ClientCertificate,
  ClusterAccess,
  ClusterLogin,
  ExecPlugin,
  Impersonation,
} from './cluster-access.ts'

interface KubeconfigSource {
  /** Absolute path; it wins over `contents`. */
  readonly file?: string | undefined
  readonly contents?: string | undefined
  /** Undefined: the current one of the kubeconfig. */
  readonly context?: string | undefined
}

function named<T>(field: string, read: Reader<T>) {
  return list(shape({ name: or(scalarOf, ''), value: [read, field] }))
}

const toCluster = shape({
  server: textOf,
  'tls-server-name': textOf,
  'insecure-skip-tls-verify': isTrue,
  'certificate-authority': textOf,
  'certificate-authority-data': textOf,
  'proxy-url': textOf,
  extensions: list(shape({ name: textOf, extension: asGiven })),
})
type Cluster = ShapeOf<typeof toCluster>

const toExec = shape({
  command: textOf,
  apiVersion: or(textOf, ''),
  interactiveMode: textOf,
  env: list(shape({ name: String, value: or(asGiven, '') })),
  args: textsOf,
  installHint: textOf,
  provideClusterInfo: isTrue,
})

const toUser = shape({
  'client-certificate': textOf,
  'client-certificate-data': textOf,
  'client-key': textOf,
  'client-key-data': textOf,
  token: textOf,
  tokenFile: textOf,
  username: textOf,
  password: or(textOf, ''),
  exec: maybeObject,
  'auth-provider': shape({ name: textOf }),
  as: textOf,
  'as-uid': textOf,
  'as-groups': textsOf,
  'as-user-extra': objectOf,
})
type KubeconfigUser = ShapeOf<typeof toUser>

const toKubeconfig = shape({
  'current-context': textOf,
  contexts: named(
    'context',
    shape({ cluster: textOf, user: textOf, namespace: or(textOf, 'default') }),
  ),
  clusters: named('cluster', toCluster),
  users: named('user', toUser),
})
type KubeconfigContent = ShapeOf<typeof toKubeconfig>

/** The message may be shown to operators and holds no secrets. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError'
}

/** @throws {KubeconfigError} */
export async function loadKubeconfig({
  file,
  contents,
  context,
}: KubeconfigSource): Promise<ClusterAccess> {
  const name = file ?? 'kubeconfigContents'
  if (file === undefined && contents === undefined)
    throw new KubeconfigError('neither a kubeconfig file nor its contents are given')
  const text = file === undefined ? (contents ?? '') : await readText(file, name)
  return await new Kubeconfig(
    name,
    file === undefined ? undefined : dirname(file),
    parse(text, name),
  ).access(context)
}

async function readText(file: string, name: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new KubeconfigError(
      `${name}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code}); check the path and its rights`,
    )
  }
}

function parse(text: string, name: string): KubeconfigContent {
  let content: unknown
  try {
    content = parseYaml(text)
  } catch {
    // The parser quotes the line, which may be a secret.
    throw new KubeconfigError(`${name} is no well-formed YAML`)
  }
  if (!isObject(content))
    throw new KubeconfigError(`${name} is no kubeconfig: it has no clusters, users and contexts`)
  return toKubeconfig(content)
}

class Kubeconfig {
  readonly #name: string
  /** Undefined: it is no file, and paths must be absolute. */
  readonly #folder: string | undefined
  readonly #content: KubeconfigContent
  #context = ''

  constructor(name: string, folder: string | undefined, content: KubeconfigContent) {
    this.#name = name
    this.#folder = folder
    this.#content = content
  }

  async access(asked: string | undefined): Promise<ClusterAccess> {
    const { contexts, clusters, users } = this.#content
    const chosen = asked ?? this.#content['current-context']
    if (chosen === undefined)
      throw this.#problem(
        `no context is chosen and it has no current-context; set context to ${this.#choices()}`,
      )
    this.#context = chosen
    const context = contexts.find(({ name }) => name === chosen)?.value
    if (context === undefined)
      throw this.#problem(`there is no such context; set context to ${this.#choices()}`)
    const cluster = this.#entry('cluster', clusters, context.cluster ?? '')
    const user = context.user === undefined ? toUser({}) : this.#entry('user', users, context.user)
    const skipsTlsVerification = cluster['insecure-skip-tls-verify']
    const certificateAuthority = await this.#pem('certificate-authority', cluster)
    return definedOf({
      server: this.#server(cluster),
      certificateAuthority: skipsTlsVerification ? undefined : certificateAuthority,
      tlsServerName: cluster['tls-server-name'],
      skipsTlsVerification,
      proxyUrl: this.#proxyUrl(cluster),
      clientCertificate: await this.#clientCertificate(user),
      login: this.#login(user, toClusterInfo(cluster, certificateAuthority)),
      impersonation: toImpersonation(user),
      namespace: context.namespace,
    })
  }

  #entry<T>(kind: string, listed: readonly { name: string; value: T }[], wanted: string): T {
    const found = listed.find(({ name }) => name === wanted)
    if (found !== undefined) return found.value
    throw this.#problem(`its ${kind} "${wanted}" is not in ${kind}s; add it or correct the context`)
  }

  #choices(): string {
    const names = this.#content.contexts.map(({ name }) => `"${name}"`)
    if (names.length === 0) return 'a context after adding one'
    return names.length === 1
      ? `${names[0]}`
      : `one of ${names.slice(0, 20).join(', ')}${names.length > 20 ? ' …' : ''}`
  }

  #server({ server: written }: Cluster): string {
    if (written === undefined) throw this.#problem('its cluster has no server')
    const url = URL.parse(written)
    if (url === null || !/^https?:$/.test(url.protocol))
      throw this.#problem(`its server "${written}" must begin with https:// or http://`)
    if (url.username !== '' || url.search !== '')
      throw this.#problem('its server must have neither a user nor a query')
    return withoutSlash(url.href)
  }

  #proxyUrl({ 'proxy-url': written }: Cluster): string | undefined {
    if (written === undefined) return undefined
    const url = URL.parse(written)
    if (url !== null && /^https?:$/.test(url.protocol)) return written
    throw this.#problem(
      'its proxy-url must begin with http:// or https://; SOCKS proxies are not supported',
    )
  }

  async #clientCertificate(user: KubeconfigUser): Promise<ClientCertificate | undefined> {
    const certificate = await this.#pem('client-certificate', user)
    const key = await this.#pem('client-key', user)
    if (certificate !== undefined && key !== undefined) return { certificate, key }
    if (certificate === undefined && key === undefined) return undefined
    const [given, missing] =
      certificate === undefined
        ? ['client-key', 'client-certificate']
        : ['client-certificate', 'client-key']
    throw this.#problem(`its user has a ${given} and no ${missing}; add the other one`)
  }

  /** Embedded, or from a file. */
  async #pem<F extends string>(
    field: F,
    given: { readonly [K in F | `${F}-data`]: string | undefined },
  ): Promise<string | undefined> {
    const { [field]: path, [`${field}-data` as const]: embedded } = given
    if (embedded === undefined && path === undefined) return undefined
    const text =
      embedded === undefined
        ? await this.#file(field, path ?? '')
        : Buffer.from(embedded, 'base64').toString('utf8')
    if (text.includes('-----BEGIN ')) return text
    throw this.#problem(`its ${embedded === undefined ? field : `${field}-data`} holds no PEM text`)
  }

  #file(field: string, path: string): Promise<string> {
    const file = this.#path(field, path)
    return readText(file, `${this.#where()}: ${field}`)
  }

  #path(field: string, path: string): string {
    if (this.#folder !== undefined) return resolve(this.#folder, path)
    if (path.startsWith('/')) return path
    throw this.#problem(
      `its ${field} must be an absolute path, because the kubeconfig is no file; or embed it as ${field}-data`,
    )
  }

  #login(user: KubeconfigUser, clusterInfo: JsonObject): ClusterLogin {
    const { token, tokenFile, username, password, exec } = user
    if (tokenFile !== undefined)
      return { kind: 'token-file', file: this.#path('tokenFile', tokenFile) }
    if (token !== undefined) return { kind: 'token', token }
    if (username !== undefined) return { kind: 'basic', username, password }
    if (exec !== undefined) return { kind: 'exec', exec: this.#exec(toExec(exec), clusterInfo) }
    const provider = user['auth-provider'].name
    if (provider === undefined) return { kind: 'none' }
    throw this.#problem(
      `its user has the auth-provider "${provider}", which kubectl has removed, too; use an exec credential plugin`,
    )
  }

  #exec(exec: ShapeOf<typeof toExec>, clusterInfo: JsonObject): ExecPlugin {
    const { command, apiVersion, installHint } = exec
    if (command === undefined) throw this.#problem('its exec credential plugin has no command')
    if (!execVersions.has(apiVersion)) {
      throw this.#problem(
        `its exec credential plugin has the apiVersion "${apiVersion}"; use ${[...execVersions].join(' or ')}`,
      )
    }
    if (exec.interactiveMode === 'Always')
      throw this.#problem('its exec credential plugin needs a terminal; use a login without')
    return {
      apiVersion,
      command: command.includes('/') ? this.#path('command', command) : command,
      args: exec.args,
      env: Object.fromEntries(exec.env.map(({ name, value }) => [name, String(value)])),
      ...(installHint !== undefined && { installHint }),
      ...(exec.provideClusterInfo && { clusterInfo }),
    }
  }

  #where(): string {
    return this.#context === '' ? this.#name : `${this.#name}, context "${this.#context}"`
  }

  #problem(text: string): KubeconfigError {
    return new KubeconfigError(`${this.#where()}: ${text}`)
  }
}

const execVersions: ReadonlySet<string> = new Set([
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
])

function toImpersonation(user: KubeconfigUser): Impersonation | undefined {
  if (user.as === undefined) return undefined
  const extra = Object.entries(user['as-user-extra']).map(([key, values]) => [key, textsOf(values)])
  return {
    user: user.as,
    uid: user['as-uid'],
    groups: user['as-groups'],
    extra: Object.fromEntries(extra),
  }
}

/** @see `Cluster` of client.authentication.k8s.io/v1 */
function toClusterInfo(cluster: Cluster, certificateAuthority: string | undefined): JsonObject {
  const extension = cluster.extensions.find(
    ({ name }) => name === 'client.authentication.k8s.io/exec',
  )
  return definedOf({
    server: cluster.server,
    'tls-server-name': cluster['tls-server-name'],
    'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'] || undefined,
    'certificate-authority-data':
      certificateAuthority && Buffer.from(certificateAuthority).toString('base64'),
    'proxy-url': cluster['proxy-url'],
    config: extension?.extension,
  })
}
