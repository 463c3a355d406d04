/** Credentials that systemd gives a unit, as settings: `LoadCredential=backends.key` is the setting of that name. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { reasonUnreadable } from '../storage/file-fault.ts'
import type { Environment } from './environment.ts'

/** A file of keys: its path is the setting. */
const keyFile = { credential: 'secrets.key', setting: 'secrets.key-file' } as const

/** Contents by name, without a line break at the end; a name that fits no setting is left to references. */
export function loadCredentials({ CREDENTIALS_DIRECTORY: directory }: Environment, notices: string[]): Environment {
  const found: Record<string, string> = {}
  try {
    if (!directory || statSync(directory, { throwIfNoEntry: false }) === undefined) return found
    for (const name of readdirSync(directory)) {
      const path = join(directory, name)
      if (name === keyFile.credential) found[keyFile.setting] = path
      else if (statSync(path).isFile()) found[name] = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    }
  } catch (error) {
    // Where a unit runs in a container, systemd may have failed to give it any.
    notices.push(`Credentials in ${directory} are ignored: ${reasonUnreadable(error)}.`)
  }
  return found
}
