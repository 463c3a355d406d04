/** Certificates for calls to services: the client certificate of Fairlead, and the authorities that it trusts. */
import { createSecureContext } from 'node:tls'
import type { SettingsReport } from '../settings/setting.ts'
import {
  loadAuthorities,
  loadKeyStoreIdentity,
  TlsFileError,
  toStoreFile,
} from '../tls/key-material.ts'

/** PEM texts; the names are those of `tls.connect`. */
export interface ServiceTls {
  readonly ca?: string[]
  readonly cert?: string
  readonly key?: string
}

interface StoreFiles {
  keyStore: string | undefined
  keyStorePassword: string | undefined
  trustStore: string | undefined
  trustStorePassword: string | undefined
}

/**
 * Reads the files, which count until the next start. Undefined where none is named.
 *
 * @param key Setting above those of the files
 */
export function toServiceTls(
  files: StoreFiles,
  report: SettingsReport,
  key = 'okHttpClient',
): ServiceTls | undefined {
  const identity = read(files, `${key}.keyStore`, report, (store) =>
    loadKeyStoreIdentity(store, undefined),
  )
  const authorities = read(files, `${key}.trustStore`, report, loadAuthorities)
  if (identity === undefined && authorities === undefined) return undefined
  const tls: ServiceTls = {
    ...(identity !== undefined && { key: identity.key, cert: identity.certificates }),
    ...(authorities !== undefined && { ca: authorities.map(String) }),
  }
  try {
    createSecureContext(tls)
  } catch (error) {
    report.problem(
      key,
      `TLS to services cannot be set up with these files: ${(error as Error).message}`,
    )
  }
  return tls
}

function read<T>(
  files: StoreFiles,
  key: string,
  report: SettingsReport,
  load: (store: ReturnType<typeof toStoreFile>) => T,
): T | undefined {
  const name = key.endsWith('keyStore') ? 'keyStore' : 'trustStore'
  const file = files[name]
  if (!file) return undefined
  try {
    return load(toStoreFile(key, file, files[`${name}Password`] ?? ''))
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error
    report.problem(key, error.message)
    return undefined
  }
}
