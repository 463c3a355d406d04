/** Access of Git to a repository that a pipeline names: within the restrictions, with the credentials of an account. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { shellWord } from '../names/shell-word.ts'
import { PortError } from '../port-error.ts'
import { ownUser } from '../runtime/own-user.ts'
import { type AccountCredentials, authorizationFor } from './account-credentials.ts'
import { checkOutsideAddress } from './call-outside.ts'
import { gitEnvironment, repositoryPattern, withoutUserinfo } from './git-repository.ts'
import { runProgram } from './run-program.ts'
import type { OutsideSettings } from './settings.ts'
import { toFetchError } from './source-calls.ts'

const text = z.string().min(1).optional()

export const sshKeys = {
  sshPrivateKeyFilePath: text.describe(
    'Private key without a passphrase, for `ssh://` and `git@host:path`.',
  ),
  sshKnownHostsFilePath: text.describe(
    'File with the keys of SSH servers. Default: the known hosts of this machine.',
  ),
  sshTrustUnknownHosts: z
    .boolean()
    .default(false)
    .describe('Accept SSH servers without a known key.'),
}

export interface GitAccount extends AccountCredentials {
  readonly sshPrivateKeyFilePath?: string
  readonly sshKnownHostsFilePath?: string
  readonly sshTrustUnknownHosts?: boolean
}

export interface GitAccess {
  /** What Git is asked for. */
  readonly url: string
  readonly environment: Readonly<Record<string, string>>
  /** Files that it needs besides those in its folder. */
  readonly readOnly: readonly string[]
}

interface AccessOptions {
  readonly account: GitAccount
  readonly outside: OutsideSettings
  /** For files that Git needs. */
  readonly folder: string
}

interface GitRun extends Omit<AccessOptions, 'folder'> {
  /** For all calls together. */
  readonly timeLimitMs: number
  readonly maxOutputBytes: number
}

/**
 * Calls Git for a repository in an empty folder, which is removed afterwards.
 *
 * @param use Gets what runs Git, and the address for it
 * @throws {PortError} as `openGitAccess`, {ProgramError}, and what `use` throws
 */
export async function withGit<T>(
  reference: string,
  { timeLimitMs: limitMs, maxOutputBytes, ...options }: GitRun,
  use: (git: (...args: string[]) => Promise<Buffer>, url: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-git-'))
  try {
    const access = await openGitAccess(reference, { ...options, folder })
    const environment = {
      ...gitEnvironment,
      ...access.environment,
      HOME: folder,
      GIT_LITERAL_PATHSPECS: '1',
    }
    const endMs = performance.now() + limitMs
    const git = (...args: string[]) => {
      const timeLimitMs = Math.max(1, Math.round(endMs - performance.now()))
      const { readOnly } = access
      const { sandbox } = options.outside
      return runProgram({
        program: 'git',
        args,
        folder,
        environment,
        timeLimitMs,
        maxOutputBytes,
        sandbox,
        network: 'host',
        readOnly,
      })
    }
    return await use(git, access.url)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const caller = 'Artifact accounts'

/** @throws {PortError} 400 for an address that is wrong or not allowed */
export async function openGitAccess(reference: string, options: AccessOptions): Promise<GitAccess> {
  try {
    const { protocol } = repositoryUrl(reference)
    return await (protocol === 'ssh:' ? openSsh(reference, options) : openHttp(reference, options))
  } catch (error) {
    throw toFetchError(error)
  }
}

/**
 * Paths of this machine and `git://`, which proves nothing, are left out.
 *
 * @throws {PortError} 400
 */
export function repositoryUrl(reference: string): URL {
  const [, userHost, path] = /^([^/:@\s]+@[^/:\s]+):(.*)$/.exec(reference) ?? []
  const url = URL.parse(userHost === undefined ? reference : `ssh://${userHost}/${path}`)
  if (
    !repositoryPattern.test(reference) ||
    url === null ||
    !['http:', 'https:', 'ssh:'].includes(url.protocol)
  ) {
    const shown = withoutUserinfo(reference)
    throw new PortError(
      400,
      `"${shown}" is no address of a repository: use https://, ssh:// or git@host:path, without backslashes.`,
    )
  }
  return url
}

/** Whether its host is an IP address. */
function isNumber({ hostname }: URL): boolean {
  return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
}

/**
 * Git gets the address as it was read for the check. It calls the IP addresses that were checked, whatever the name leads to by
 * then, and follows no redirects.
 */
async function openHttp(
  reference: string,
  { account, outside }: AccessOptions,
): Promise<GitAccess> {
  const { url, addresses } = await checkOutsideAddress(outside, caller, reference)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const authorization =
    url.username === '' ? await authorizationFor(account, url.hostname) : undefined
  const config = [
    ['http.followRedirects', 'false'],
    ...(isNumber(url)
      ? []
      : [['http.curloptResolve', `${url.hostname}:${port}:${addresses.join(',')}`]]),
    ...(authorization === undefined
      ? []
      : [['http.extraHeader', `Authorization: ${authorization}`]]),
  ]
  // Unlike arguments, the environment is not shown to other users of this machine.
  const pairs = config.flatMap(([key = '', value = ''], index) => [
    [`GIT_CONFIG_KEY_${index}`, key] as const,
    [`GIT_CONFIG_VALUE_${index}`, value] as const,
  ])
  const environment = {
    ...Object.fromEntries(pairs),
    GIT_CONFIG_COUNT: String(config.length),
    GIT_ALLOW_PROTOCOL: 'https:http',
  }
  return { url: url.href, environment, readOnly: [] }
}

/** SSH in the sandbox knows no home. */
const ownKnownHosts = join(ownUser()?.homedir ?? '/', '.ssh', 'known_hosts')

async function openSsh(
  reference: string,
  { account, outside, folder }: AccessOptions,
): Promise<GitAccess> {
  const {
    sshPrivateKeyFilePath: key,
    sshKnownHostsFilePath: known = ownKnownHosts,
    sshTrustUnknownHosts: trusts = false,
    hosts,
    name,
  } = account
  if (key === undefined)
    throw new PortError(
      400,
      `The artifact account "${name}" has no sshPrivateKeyFilePath, which SSH needs. Use https://.`,
    )
  const { hostname, port } = repositoryUrl(reference)
  if (hosts?.includes(hostname) === false)
    throw new PortError(
      400,
      `The artifact account "${name}" is not for ${hostname}: see its setting "hosts".`,
    )
  const { addresses } = await checkOutsideAddress(
    outside,
    caller,
    `https://${hostname}${port === '' ? '' : `:${port}`}/`,
  )
  const lines = [
    'Host *',
    `HostName ${addresses[0]}`,
    `HostKeyAlias ${hostname}`,
    `IdentityFile ${quote(resolve(key))}`,
    'IdentitiesOnly yes',
    'BatchMode yes',
    'ConnectTimeout 20',
    `StrictHostKeyChecking ${trusts ? 'no' : 'yes'}`,
    `UserKnownHostsFile ${quote(resolve(known))}`,
  ]
  const file = join(folder, 'ssh-config')
  await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o600 })
  const environment = { GIT_SSH_COMMAND: `ssh -F ${shellWord(file)}`, GIT_ALLOW_PROTOCOL: 'ssh' }
  return { url: reference, environment, readOnly: [resolve(key), resolve(known)] }
}

/** A path in a configuration of SSH. */
function quote(path: string): string {
  return `"${path.replaceAll('"', '')}"`
}
