/** Files of repositories over the API of their host: what GitHub, GitLab, Bitbucket and Gitea have in common. */
import { z } from 'zod'
import { type JsonObject, textOf } from '../../../json/values.ts'
import { off, type SettingsReport, setting, settings } from '../../../settings/setting.ts'
import { type BackendContext, BackendError } from '../../backend.ts'
import type { OutsideAnswer } from '../../outside/call-outside.ts'
import type { ArtifactAccountType } from './account-type.ts'
import type { ArtifactAccount } from './artifact-account.ts'
import {
  type AccountCredentials,
  artifactTokenKeys,
  checkArtifactAccounts,
  credentialKeys,
  hasCredentials,
  isForHost,
  loadLogin,
  type SourceLogin,
} from './credentials.ts'
import { createSource, type SourceGet } from './source-calls.ts'

export interface FileHost {
  /** The settings are below `artifacts.` and the id. */
  readonly id: string
  readonly title: string
  readonly artifactType: string
  /** Hosts that get the credentials of accounts that list none. */
  readonly hosts: readonly string[]
  /** An example of an address, for messages. */
  readonly form: string
  /** Further keys of accounts. */
  readonly keys?: Readonly<Record<string, z.ZodType>>
  readonly headers?: Readonly<Record<string, string>>
  /** Whether its API has files at such an address. */
  isFile(url: URL): boolean
  /** Query with the branch, the tag or the commit. */
  versionQuery(url: URL, version: string | undefined): Readonly<Record<string, string>>
  toHeaders(login: SourceLogin): Readonly<Record<string, string>>
  /** @throws {BackendError} 400 when the answer is no file */
  checkFile?(answer: OutsideAnswer, reference: string): void
}

export function createFileHostType(host: FileHost): ArtifactAccountType {
  const accountsKey = `artifacts.${host.id}.accounts`
  const Account = z.strictObject({ ...credentialKeys, hosts: hostsKey(host), ...artifactTokenKeys, ...host.keys })
  const group = settings({
    enabled: setting(`artifacts.${host.id}.enabled`, off).describe(
      `Fetch artifacts of type \`${host.artifactType}\` over the API of ${host.title}.`,
    ),
    accounts: setting(accountsKey, z.array(Account).default([])).describe(
      `Accounts at ${host.title}; one without credentials reads public repositories.`,
    ),
  })
  return {
    id: host.id,
    keys: group.keys,
    toSettings(keys: object, report: SettingsReport): readonly AccountCredentials[] | undefined {
      const { enabled, accounts } = group.read(keys)
      if (!enabled) return undefined
      const known = (accounts as readonly AccountCredentials[]).map((each) => ({ ...each, hosts: each.hosts ?? host.hosts }))
      checkArtifactAccounts(accountsKey, known, report)
      for (const each of known.filter((one) => hasCredentials(one) && one.hosts.length === 0))
        report.problem(accountsKey, `"${each.name}" has credentials and no hosts that get them: list its hosts`)
      return known
    },
    open: (accounts, context) => openAccounts(host, accounts as readonly AccountCredentials[], context),
  }
}

function hostsKey({ hosts }: FileHost): z.ZodType {
  const known = hosts.length === 0 ? 'Needed with credentials.' : `Default: ${hosts.map((name) => `\`${name}\``).join(', ')}.`
  return z.array(z.string().min(1)).optional().describe(`Hosts that get the credentials. ${known}`)
}

function openAccounts(host: FileHost, accounts: readonly AccountCredentials[], context: BackendContext): ArtifactAccount[] {
  const open = createSource({ outside: context.settings.outside })
  return accounts.map((account) => ({
    name: account.name,
    types: [host.artifactType],
    fetch: (artifact) => fetchFile(artifact, { host, account, get: open() }),
  }))
}

interface FileFetch {
  readonly host: FileHost
  readonly account: AccountCredentials
  readonly get: SourceGet
}

async function fetchFile(artifact: JsonObject, { host, account, get }: FileFetch): Promise<Buffer> {
  const url = toUrl(artifact, host)
  const isOwn = isForHost(account, url.hostname)
  const answer = await get(url.href, {
    headers: host.headers ?? {},
    credentials: isOwn ? host.toHeaders(await loadLogin(account)) : {},
    advice: isOwn
      ? `Check the address, the version, and the rights of the artifact account "${account.name}".`
      : `The artifact account "${account.name}" has no credentials for ${url.hostname}: see artifacts.${host.id}.accounts, "hosts".`,
  })
  host.checkFile?.(answer, url.href)
  return answer.bytes
}

/** @throws {BackendError} 400 */
function toUrl({ type, reference, version }: JsonObject, host: FileHost): URL {
  const text = textOf(reference)
  const url = text === undefined ? null : URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || !host.isFile(url))
    throw new BackendError(
      400,
      `An artifact of type ${type} needs the address of a file in the API of ${host.title} as "reference", such as ${host.form}`,
    )
  for (const [name, value] of Object.entries(host.versionQuery(url, textOf(version))))
    if (!url.searchParams.has(name)) url.searchParams.set(name, value)
  return url
}
