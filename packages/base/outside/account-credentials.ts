/** Credentials of artifact accounts, and the hosts that get them. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { PortError } from '../port-error.ts'
import type { SettingsReport } from '../settings/setting.ts'
import { type OutsideAccount, useKeys } from './outside-account.ts'

const text = z.string().min(1).optional()

/** Keys of accounts whose address is a setting. */
export const loginKeys = {
  name: z.string().min(1).describe('Name, as stages choose it.'),
  ...useKeys,
  username: text.describe('User name at the source.'),
  password: text.describe('Password of the user.'),
  usernamePasswordFile: text.describe('File with `user:password`, read at each fetch.'),
}

/** Keys of accounts that fetch what an address names. */
export const credentialKeys = {
  ...loginKeys,
  hosts: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Hosts that get the credentials, such as `git.example.com`. Default: every host that a pipeline names.',
    ),
}

export const artifactTokenKeys = {
  token: text.describe('Access token.'),
  tokenFile: text.describe('File with the access token, read at each fetch.'),
}

export interface AccountCredentials extends OutsideAccount {
  readonly username?: string
  readonly password?: string
  readonly usernamePasswordFile?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly hosts?: readonly string[]
}

/** Credentials without a list of hosts are worth a line. */
export function checkHosts(
  accounts: readonly AccountCredentials[],
  key: string,
  report: SettingsReport,
): void {
  for (const account of accounts) {
    if (hasCredentials(account) && account.hosts === undefined)
      report.notice(
        `${key}: "${account.name}" sends its credentials to each host that a pipeline names; list its hosts.`,
      )
  }
}

export function hasCredentials({
  password,
  usernamePasswordFile,
  token,
  tokenFile,
}: AccountCredentials): boolean {
  return [password, usernamePasswordFile, token, tokenFile].some((value) => value !== undefined)
}

/**
 * Value of the header `Authorization` for a host; undefined: none.
 *
 * @param host Without port
 * @throws {PortError} 500 when a file cannot be read
 */
export async function authorizationFor(
  account: AccountCredentials,
  host: string,
): Promise<string | undefined> {
  if (!hasCredentials(account) || !isForHost(account, host)) return undefined
  return toBasic(await userinfoOf(account))
}

/** @param host Without port */
export function isForHost({ hosts }: AccountCredentials, host: string): boolean {
  return hosts === undefined || hosts.some((each) => each.toLowerCase() === host.toLowerCase())
}

export interface SourceLogin {
  readonly token?: string
  /** Value of the header `Authorization`. */
  readonly basic?: string
}

/**
 * Token or name and password, for sources that tell them apart; a token wins.
 *
 * @throws {PortError} 500 when a file cannot be read
 */
export async function loadLogin(account: AccountCredentials): Promise<SourceLogin> {
  const token = await loadToken(account)
  if (token !== undefined) return { token }
  return hasCredentials(account) ? { basic: toBasic(await userinfoOf(account)) } : {}
}

/** @param scheme Before a token */
export function authorizationHeader(
  { token, basic }: SourceLogin,
  scheme = 'Bearer',
): Record<string, string> {
  const authorization = token === undefined ? basic : `${scheme} ${token}`
  return authorization === undefined ? {} : { authorization }
}

function toBasic(userinfo: string): string {
  return `Basic ${Buffer.from(userinfo).toString('base64')}`
}

async function loadToken(account: AccountCredentials): Promise<string | undefined> {
  const { token, tokenFile } = account
  return token ?? (tokenFile === undefined ? undefined : readSecret(tokenFile, account))
}

async function userinfoOf(account: AccountCredentials): Promise<string> {
  const { username, password = '', usernamePasswordFile } = account
  const secret = await loadToken(account)
  // The hosts of repositories accept a token as the password of any user.
  if (secret !== undefined) return `${username ?? 'x-access-token'}:${secret}`
  if (usernamePasswordFile !== undefined) return readSecret(usernamePasswordFile, account)
  return `${username ?? ''}:${password}`
}

async function readSecret(file: string, { name }: AccountCredentials): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new PortError(
      500,
      `The file with the credentials of the artifact account "${name}" cannot be read (${code}).`,
    )
  }
}
