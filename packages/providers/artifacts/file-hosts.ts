/** Files of repositories over the API of their host: GitHub, GitLab, Bitbucket and Gitea. */

import {
  type AccountCredentials,
  artifactTokenKeys,
  authorizationHeader,
  credentialKeys,
  hasCredentials,
  isForHost,
  loadLogin,
  type SourceLogin,
} from '@fairlead/base/outside/account-credentials.ts'
import type { OutsideAnswer } from '@fairlead/base/outside/call-outside.ts'
import { createSource, type SourceGet } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import {
  type Artifact,
  type ArtifactAccount,
  type ArtifactAccountType,
  listedAccounts,
} from './account-type.ts'

interface FileHost {
  /** The settings are below `artifacts.` and the id. Artifacts have the type `<id>/file`. */
  readonly id: string
  readonly title: string
  /** Hosts that get the credentials of accounts that list none. */
  readonly hosts: readonly string[]
  readonly form: string
  readonly keys?: Readonly<Record<string, z.ZodType>>
  readonly headers?: Readonly<Record<string, string>>
  isFile(url: URL): boolean
  /** Query parameter with the branch, the tag or the commit; undefined: the address holds it. */
  versionParameter(url: URL): string | undefined
  readonly usualVersion?: string
  toHeaders(login: SourceLogin): Readonly<Record<string, string>>
  /** @throws {PortError} 400 when the answer is no file */
  checkFile?(answer: OutsideAnswer, reference: string): void
}

const hosts: readonly FileHost[] = [
  {
    id: 'bitbucket',
    title: 'Bitbucket',
    hosts: ['api.bitbucket.org'],
    form: 'https://api.bitbucket.org/2.0/repositories/shop/deploy/src/main/app.yml',
    isFile: ({ pathname }) =>
      /\/repositories\/[^/]+\/[^/]+\/src\/[^/]+\/.|\/repos\/[^/]+\/raw\/./.test(pathname),
    // The addresses of Cloud hold the version, those of Data Center do not.
    versionParameter: ({ pathname }) => (/\/repos\/[^/]+\/raw\//.test(pathname) ? 'at' : undefined),
    toHeaders: (login) => authorizationHeader(login),
  },
  {
    id: 'gitea',
    title: 'Gitea',
    hosts: [],
    form: 'https://git.example.com/api/v1/repos/shop/deploy/raw/app.yml',
    isFile: ({ pathname }) => /\/repos\/[^/]+\/[^/]+\/(?:raw|media)\/./.test(pathname),
    versionParameter: () => 'ref',
    toHeaders: (login) => authorizationHeader(login, 'token'),
  },
  {
    id: 'github',
    title: 'GitHub',
    hosts: ['api.github.com'],
    form: 'https://api.github.com/repos/shop/deploy/contents/app.yml',
    keys: {
      useContentAPI: z
        .boolean()
        .optional()
        .describe('Without effect: files always come from the API of contents.'),
      githubAPIVersion: z
        .string()
        .optional()
        .describe('Without effect: the current version is used.'),
    },
    headers: { accept: 'application/vnd.github.raw+json', 'x-github-api-version': '2022-11-28' },
    isFile: ({ pathname }) => /\/repos\/[^/]+\/[^/]+\/contents\/./.test(pathname),
    versionParameter: () => 'ref',
    toHeaders: (login) => authorizationHeader(login),
    // The content of a file has a type of its own.
    checkFile({ headers }, reference) {
      if (/^application\/json\b/.test(String(headers['content-type'])))
        throw new PortError(
          400,
          `${reference} is no file: it is a folder, or a link to another repository.`,
        )
    },
  },
  {
    id: 'gitlab',
    title: 'GitLab',
    hosts: ['gitlab.com'],
    form: 'https://gitlab.com/api/v4/projects/shop%2Fdeploy/repository/files/app.yml/raw',
    isFile: ({ pathname }) =>
      pathname.endsWith('/raw') && /\/projects\/[^/]+\/repository\/files\/[^/]/.test(pathname),
    versionParameter: () => 'ref',
    usualVersion: 'HEAD',
    toHeaders: (login) =>
      login.token === undefined ? authorizationHeader(login) : { 'private-token': login.token },
  },
]

export const fileHostArtifacts: readonly ArtifactAccountType[] = hosts.map((host) =>
  listedAccounts({
    id: host.id,
    enabled: `Fetch artifacts of type \`${host.id}/file\` over the API of ${host.title}.`,
    accounts: `Accounts at ${host.title}; one without credentials reads public repositories.`,
    account: accountSchema(host),
    check(accounts, key, report) {
      for (const { name } of accounts.filter(
        (each) => hasCredentials(each) && each.hosts?.length === 0,
      ))
        report.problem(key, `"${name}" has credentials and no hosts that get them: list its hosts`)
    },
    open: (accounts, context) => openAccounts(host, accounts, context),
  }),
)

function accountSchema({ hosts: usual, keys }: FileHost): z.ZodType<AccountCredentials> {
  const known =
    usual.length === 0
      ? 'Needed with credentials.'
      : `Default: ${usual.map((name) => `\`${name}\``).join(', ')}.`
  const listed = z
    .array(z.string().min(1))
    .optional()
    .describe(`Hosts that get the credentials. ${known}`)
  return z
    .strictObject({ ...credentialKeys, hosts: listed, ...artifactTokenKeys, ...keys })
    .transform((account) => ({
      ...(account as AccountCredentials),
      hosts: (account as AccountCredentials).hosts ?? usual,
    }))
}

function openAccounts(
  host: FileHost,
  accounts: readonly AccountCredentials[],
  context: BackendContext,
): ArtifactAccount[] {
  const open = createSource({ outside: context.settings.outside })
  return accounts.map((account) => ({
    name: account.name,
    types: [`${host.id}/file`],
    fetch: (artifact) => fetchFile(artifact, { host, account, get: open() }),
  }))
}

interface FileFetch {
  readonly host: FileHost
  readonly account: AccountCredentials
  readonly get: SourceGet
}

async function fetchFile(artifact: Artifact, { host, account, get }: FileFetch): Promise<Buffer> {
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

/** @throws {PortError} 400 */
function toUrl({ type, reference, version }: Artifact, host: FileHost): URL {
  const url = URL.parse(reference ?? '')
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || !host.isFile(url))
    throw new PortError(
      400,
      `An artifact of type ${type} needs the address of a file in the API of ${host.title} as "reference", such as ${host.form}`,
    )
  const parameter = host.versionParameter(url)
  const wanted = version ?? host.usualVersion
  if (parameter !== undefined && wanted !== undefined && !url.searchParams.has(parameter))
    url.searchParams.set(parameter, wanted)
  return url
}
