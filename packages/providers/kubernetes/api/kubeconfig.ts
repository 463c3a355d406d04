/** Kubeconfigs: the cluster and the login of a context. */
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import {
  definedOf,
  fieldOf,
  isObject,
  isTrue,
  type JsonObject,
  objectOf,
  objectsOf,
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

function parse(text: string, name: string): JsonObject {
  let content: unknown
  try {
    content = parseYaml(text)
  } catch {
    // The parser quotes the line, which may be a secret.
    throw new KubeconfigError(`${name} is no well-formed YAML`)
  }
  if (!isObject(content))
    throw new KubeconfigError(`${name} is no kubeconfig: it has no clusters, users and contexts`)
  return content
}

class Kubeconfig {
  readonly #name: string
  /** Undefined: it is no file, and paths must be absolute. */
  readonly #folder: string | undefined
  readonly #content: JsonObject
  #context = ''

  constructor(name: string, folder: string | undefined, content: JsonObject) {
    this.#name = name
    this.#folder = folder
    this.#content = content
  }

  async access(asked: string | undefined): Promise<ClusterAccess> {
    const chosen = asked ?? textOf(this.#content['current-context'])
    if (chosen === undefined)
      throw this.#problem(
        `no context is chosen and it has no current-context; set context to ${this.#choices()}`,
      )
    this.#context = chosen
    const context = this.#entry('contexts', 'context', chosen)
    const cluster = this.#entry('clusters', 'cluster', textOf(context['cluster']))
    const userName = textOf(context['user'])
    const user = userName === undefined ? {} : this.#entry('users', 'user', userName)
    const skipsTlsVerification = isTrue(cluster['insecure-skip-tls-verify'])
    const certificateAuthority = await this.#pem(cluster, 'certificate-authority')
    return definedOf({
      server: this.#server(cluster),
      certificateAuthority: skipsTlsVerification ? undefined : certificateAuthority,
      tlsServerName: textOf(cluster['tls-server-name']),
      skipsTlsVerification,
      proxyUrl: this.#proxyUrl(cluster),
      clientCertificate: await this.#clientCertificate(user),
      login: this.#login(user, toClusterInfo(cluster, certificateAuthority)),
      impersonation: this.#impersonation(user),
      namespace: textOf(context['namespace']) ?? 'default',
    }) as ClusterAccess
  }

  #entry(list: string, field: string, name: string | undefined): JsonObject {
    const entry = objectsOf(this.#content[list]).find((each) => each['name'] === name)
    if (entry !== undefined) return objectOf(entry[field])
    if (list === 'contexts')
      throw this.#problem(`there is no such context; set context to ${this.#choices()}`)
    throw this.#problem(
      `its ${field} "${name ?? ''}" is not in ${list}; add it or correct the context`,
    )
  }

  #choices(): string {
    const names = objectsOf(this.#content['contexts']).map(({ name }) => `"${String(name)}"`)
    if (names.length === 0) return 'a context after adding one'
    return names.length === 1
      ? `${names[0]}`
      : `one of ${names.slice(0, 20).join(', ')}${names.length > 20 ? ' …' : ''}`
  }

  #server(cluster: JsonObject): string {
    const written = textOf(cluster['server'])
    if (written === undefined) throw this.#problem('its cluster has no server')
    const url = URL.parse(written)
    if (url === null || !/^https?:$/.test(url.protocol))
      throw this.#problem(`its server "${written}" must begin with https:// or http://`)
    if (url.username !== '' || url.search !== '')
      throw this.#problem('its server must have neither a user nor a query')
    return withoutSlash(url.href)
  }

  #proxyUrl(cluster: JsonObject): string | undefined {
    const written = textOf(cluster['proxy-url'])
    if (written === undefined) return undefined
    const url = URL.parse(written)
    if (url !== null && /^https?:$/.test(url.protocol)) return written
    throw this.#problem(
      'its proxy-url must begin with http:// or https://; SOCKS proxies are not supported',
    )
  }

  async #clientCertificate(user: JsonObject): Promise<ClientCertificate | undefined> {
    const certificate = await this.#pem(user, 'client-certificate')
    const key = await this.#pem(user, 'client-key')
    if (certificate !== undefined && key !== undefined) return { certificate, key }
    if (certificate === undefined && key === undefined) return undefined
    const [given, missing] =
      certificate === undefined
        ? ['client-key', 'client-certificate']
        : ['client-certificate', 'client-key']
    throw this.#problem(`its user has a ${given} and no ${missing}; add the other one`)
  }

  /** Embedded, or from a file. */
  async #pem(object: JsonObject, field: string): Promise<string | undefined> {
    const embedded = textOf(object[`${field}-data`])
    const path = textOf(object[field])
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

  #login(user: JsonObject, clusterInfo: JsonObject): ClusterLogin {
    const [token, file, username] = ['token', 'tokenFile', 'username'].map((field) =>
      textOf(user[field]),
    )
    if (file !== undefined) return { kind: 'token-file', file: this.#path('tokenFile', file) }
    if (token !== undefined) return { kind: 'token', token }
    if (username !== undefined)
      return { kind: 'basic', username, password: textOf(user['password']) ?? '' }
    if (isObject(user['exec'])) return { kind: 'exec', exec: this.#exec(user['exec'], clusterInfo) }
    const provider = textOf(fieldOf(user['auth-provider'], 'name'))
    if (provider === undefined) return { kind: 'none' }
    throw this.#problem(
      `its user has the auth-provider "${provider}", which kubectl has removed, too; use an exec credential plugin`,
    )
  }

  #exec(exec: JsonObject, clusterInfo: JsonObject): ExecPlugin {
    const command = textOf(exec['command'])
    const apiVersion = textOf(exec['apiVersion']) ?? ''
    if (command === undefined) throw this.#problem('its exec credential plugin has no command')
    if (!execVersions.has(apiVersion)) {
      throw this.#problem(
        `its exec credential plugin has the apiVersion "${apiVersion}"; use ${[...execVersions].join(' or ')}`,
      )
    }
    if (exec['interactiveMode'] === 'Always')
      throw this.#problem('its exec credential plugin needs a terminal; use a login without')
    const env = objectsOf(exec['env']).map(({ name, value }) => [String(name), String(value ?? '')])
    return {
      apiVersion,
      command: command.includes('/') ? this.#path('command', command) : command,
      args: textsOf(exec['args']),
      env: Object.fromEntries(env),
      ...(textOf(exec['installHint']) !== undefined && {
        installHint: textOf(exec['installHint']),
      }),
      ...(isTrue(exec['provideClusterInfo']) && { clusterInfo }),
    }
  }

  #impersonation(user: JsonObject): Impersonation | undefined {
    const name = textOf(user['as'])
    if (name === undefined) return undefined
    const extra = Object.entries(objectOf(user['as-user-extra'])).map(([key, values]) => [
      key,
      textsOf(values),
    ])
    return {
      user: name,
      uid: textOf(user['as-uid']),
      groups: textsOf(user['as-groups']),
      extra: Object.fromEntries(extra),
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

/** @see `Cluster` of client.authentication.k8s.io/v1 */
function toClusterInfo(cluster: JsonObject, certificateAuthority: string | undefined): JsonObject {
  const extension = objectsOf(cluster['extensions']).find(
    ({ name }) => name === 'client.authentication.k8s.io/exec',
  )
  return definedOf({
    server: cluster['server'],
    'tls-server-name': cluster['tls-server-name'],
    'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'],
    'certificate-authority-data':
      certificateAuthority && Buffer.from(certificateAuthority).toString('base64'),
    'proxy-url': cluster['proxy-url'],
    config: extension?.['extension'],
  })
}
