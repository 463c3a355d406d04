/** Settings of secrets: the key of the store, files and Vault that references may name. */
import { resolve } from 'node:path'
import {
  httpAddress,
  inSeconds,
  optionalText,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { readAuthorities } from '@fairlead/base/tls/read-authorities.ts'
import { z } from 'zod'

import { loadKeys } from './keys.ts'

const applications = z
  .array(z.string().min(1))
  .min(1)
  .describe('Applications that may use them, such as `shop`; `*` means all.')

const FileRule = z.strictObject({
  applications,
  names: z.array(z.string().min(1)).min(1).describe('Names; a `*` at the end matches any rest.'),
})

const VaultRule = z.strictObject({
  applications,
  paths: z
    .array(z.string().min(1))
    .min(1)
    .describe('Paths below the mount; a `*` at the end matches any rest: `shop/*`.'),
})

/** The key that the standalone instance makes for itself, in the data directory. */
export const ownKeyName = 'secrets.key'

export const secretKeys = settings({
  keyFile: setting('secrets.key-file', optionalText).describe(
    'Keys of 32 bytes in base64, a line each, the newest first, that encrypt secrets of applications and accounts; read when the back ' +
      `ends start. Default: \`${ownKeyName}\` in the data directory, which is created with the first secret.`,
  ),
  files: {
    directory: setting('secrets.files.directory', optionalText).describe(
      'Where `secret:file:NAME` finds its values, such as `${CREDENTIALS_DIRECTORY}` of systemd. Default: nowhere.',
    ),
    rules: setting('secrets.files.rules', z.array(FileRule).default([])).describe(
      'Which applications may use which of them. Default: none.',
    ),
  },
  vault: {
    address: setting('secrets.vault.address', httpAddress.optional()).describe(
      'HashiCorp Vault or OpenBao, whose KV version 2 `secret:vault:PATH#KEY` reads.',
    ),
    namespace: setting('secrets.vault.namespace', optionalText).describe(
      'Namespace of Vault Enterprise.',
    ),
    mount: setting('secrets.vault.mount', z.string().min(1).default('secret')).describe(
      'Mount of the KV engine.',
    ),
    token: setting('secrets.vault.token', optionalText).describe(
      'Token; renewed as long as Vault allows it.',
    ),
    tokenFile: setting('secrets.vault.token-file', optionalText).describe(
      'Place of the token, such as the sink of a Vault agent; read again after a denial.',
    ),
    roleId: setting('secrets.vault.approle.role-id', optionalText).describe(
      'Role of a login by AppRole.',
    ),
    secretId: setting('secrets.vault.approle.secret-id', optionalText).describe('Its secret.'),
    kubernetesRole: setting('secrets.vault.kubernetes.role', optionalText).describe(
      'Role of a login with the service account of the pod.',
    ),
    kubernetesTokenFile: setting(
      'secrets.vault.kubernetes.token-file',
      z.string().min(1).default('/var/run/secrets/kubernetes.io/serviceaccount/token'),
    ).describe('Token of the service account.'),
    caFile: setting('secrets.vault.ca-file', optionalText).describe(
      'PEM file with the authorities that Vault is trusted by, in place of the usual ones; read at the start.',
    ),
    cacheMs: setting('secrets.vault.cache-seconds', inSeconds(whole(0, 3600).default(30))).describe(
      'Longest time that a value is kept in memory.',
    ),
    rules: setting('secrets.vault.rules', z.array(VaultRule).default([])).describe(
      'Which applications may read which paths. Default: none.',
    ),
  },
})
type SecretKeyValues = SettingsOf<typeof secretKeys>

export interface SecretSettings {
  /** Absolute; undefined: beside the database. */
  readonly keyFile?: string
  readonly files?: SecretKeyValues['files']
  readonly vault?: VaultSettings
}

type VaultLogin =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'token-file'; readonly file: string }
  | { readonly kind: 'approle'; readonly roleId: string; readonly secretId: string }
  | { readonly kind: 'service-account'; readonly role: string; readonly file: string }

export interface VaultSettings
  extends Pick<SecretKeyValues['vault'], 'namespace' | 'mount' | 'cacheMs' | 'rules'> {
  readonly address: string
  readonly login: VaultLogin
  /** PEM. */
  readonly authorities?: string
}

export function toSecretSettings(
  { keyFile, files, vault }: SecretKeyValues,
  report: SettingsReport,
  cwd: string,
): SecretSettings {
  const absolute = (path: string | undefined) =>
    path === undefined ? undefined : resolve(cwd, path)
  const file = absolute(keyFile)
  if (file !== undefined) checkKeyFile(file, report)
  return {
    keyFile: file,
    files: { ...files, directory: absolute(files.directory) },
    vault: toVaultSettings(vault, report),
  }
}

function checkKeyFile(file: string, report: SettingsReport): void {
  try {
    if (loadKeys(file) === undefined)
      report.problem(
        'secrets.key-file',
        `${file} does not exist; make one with "openssl rand -base64 32 > ${file}"`,
      )
  } catch (error) {
    report.problem('secrets.key-file', (error as Error).message)
  }
}

function toVaultSettings(
  values: SecretKeyValues['vault'],
  report: SettingsReport,
): VaultSettings | undefined {
  const { address, namespace, mount, cacheMs, rules } = values
  if (address === undefined) return undefined
  const authorities = readAuthorities(values.caFile, 'secrets.vault.ca-file', report)
  const logins = loginsOf(values)
  const [login] = logins
  if (login === undefined || logins.length > 1) {
    const problem = login === undefined ? 'needs a login' : 'has several logins'
    report.problem(
      'secrets.vault.address',
      `${problem}: set one of token, token-file, approle and kubernetes of secrets.vault`,
    )
    return undefined
  }
  if (values.roleId !== undefined && values.secretId === undefined)
    report.problem(
      'secrets.vault.approle.secret-id',
      'is needed with secrets.vault.approle.role-id',
    )
  if (address.startsWith('http:'))
    report.notice(
      'secrets.vault.address has no TLS: others on the network can read tokens and secrets. Use https.',
    )
  return { address, namespace, mount, cacheMs, rules, login, authorities }
}

function loginsOf({
  token,
  tokenFile,
  roleId,
  secretId = '',
  ...values
}: SecretKeyValues['vault']): VaultLogin[] {
  const { kubernetesRole, kubernetesTokenFile } = values
  return [
    ...(token === undefined ? [] : [{ kind: 'token' as const, token }]),
    ...(tokenFile === undefined ? [] : [{ kind: 'token-file' as const, file: tokenFile }]),
    ...(roleId === undefined ? [] : [{ kind: 'approle' as const, roleId, secretId }]),
    ...(kubernetesRole === undefined
      ? []
      : [{ kind: 'service-account' as const, role: kubernetesRole, file: kubernetesTokenFile }]),
  ]
}

/** @param patterns Whole texts; with a `*` at the end, beginnings */
export function matchesRule(
  text: string,
  application: string | undefined,
  rules: readonly {
    readonly applications: readonly string[]
    readonly patterns: readonly string[]
  }[],
): boolean {
  return rules.some(
    (rule) =>
      application !== undefined &&
      rule.applications.some(
        (each) => each === '*' || each.toLowerCase() === application.toLowerCase(),
      ) &&
      rule.patterns.some((each) =>
        each.endsWith('*') ? text.startsWith(each.slice(0, -1)) : text === each,
      ),
  )
}
