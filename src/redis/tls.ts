/** The files with which connections to Redis are encrypted. Read once, at the start. */
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { SettingsReport } from '../setting.ts'
import { explainUnreadable } from '../storage/file-fault.ts'

/** PEM texts; the names are those of `tls.connect`. */
interface RedisTls {
  ca?: string
  cert?: string
  key?: string
}

interface RedisTlsKeys {
  'redis.tls.enabled'?: boolean | undefined
  'redis.tls.caFile'?: string | undefined
  'redis.tls.certificateFile'?: string | undefined
  'redis.tls.privateKeyFile'?: string | undefined
}

const files = {
  ca: 'redis.tls.caFile',
  cert: 'redis.tls.certificateFile',
  key: 'redis.tls.privateKeyFile',
} as const

/** Undefined where nothing is encrypted. @param byAddress Whether the address of the server asks for TLS */
export function toRedisTls(keys: RedisTlsKeys, byAddress: boolean, report: SettingsReport): RedisTls | undefined {
  const named = Object.values(files).find((key) => keys[key] !== undefined)
  if (keys['redis.tls.enabled'] === false) {
    if (byAddress) report.problem('redis.tls.enabled', 'is false although the address begins with rediss://; remove one of them')
    return undefined
  }
  if (!byAddress && named === undefined && keys['redis.tls.enabled'] !== true) return undefined
  if ((keys[files.cert] === undefined) !== (keys[files.key] === undefined)) {
    report.problem(keys[files.cert] === undefined ? files.key : files.cert, `needs ${files.cert} and ${files.key} together`)
  }
  const tls: RedisTls = {}
  for (const name of ['ca', 'cert', 'key'] as const) {
    const text = readPem(keys[files[name]], files[name], report)
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
