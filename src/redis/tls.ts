/** The files with which connections to Redis are encrypted. Read once, at the start. */
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { SettingsReport } from '../settings/setting.ts'
import { explainUnreadable } from '../storage/file-fault.ts'

/** The names are those of `tls.connect`. */
type TlsFile = 'ca' | 'cert' | 'key'
/** PEM texts. */
type RedisTls = Partial<Record<TlsFile, string>>
type RedisTlsFiles = Readonly<Record<TlsFile, string | undefined>> & { readonly enabled: boolean | undefined }

const files = {
  ca: 'redis.tls.caFile',
  cert: 'redis.tls.certificateFile',
  key: 'redis.tls.privateKeyFile',
} as const

/** Undefined where nothing is encrypted. @param byAddress Whether the address of the server asks for TLS */
export function toRedisTls(
  { enabled, ...named }: RedisTlsFiles,
  byAddress: boolean,
  report: SettingsReport,
): RedisTls | undefined {
  if (enabled === false) {
    if (byAddress) report.problem('redis.tls.enabled', 'is false although the address begins with rediss://; remove one of them')
    return undefined
  }
  const isNamed = Object.values(named).some((file) => file !== undefined)
  if (!byAddress && !isNamed && enabled !== true) return undefined
  if ((named.cert === undefined) !== (named.key === undefined)) {
    report.problem(named.cert === undefined ? files.key : files.cert, `needs ${files.cert} and ${files.key} together`)
  }
  const tls: RedisTls = {}
  for (const name of ['ca', 'cert', 'key'] as const) {
    const text = readPem(named[name], files[name], report)
    if (text !== undefined) tls[name] = text
  }
  checkPair(tls, report)
  return tls
}

function readPem(path: string | undefined, key: string, report: SettingsReport): string | undefined {
  if (path === undefined) return undefined
  try {
    const text = readFileSync(path, 'utf8')
    if (text.includes('-----BEGIN ')) return text
    report.problem(key, `${path} is no PEM file: it has no line that starts with -----BEGIN`)
  } catch (error) {
    report.problem(key, explainUnreadable(path, error))
  }
  return undefined
}

function checkPair(tls: RedisTls, report: SettingsReport): void {
  try {
    createSecureContext(tls)
  } catch (error) {
    const key = tls.cert === undefined ? files.ca : files.cert
    report.problem(key, `the files of redis.tls do not fit together or are damaged: ${(error as Error).message}`)
  }
}
