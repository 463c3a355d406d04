/** Entries of a data directory that a backup holds. */
import { readdirSync } from 'node:fs'
import {
  agentKeyName,
  agentLockName,
  agentLogName,
  frontFolderName,
  instancesFolderName,
  trafficName,
  volumesFolderName,
} from '@fairlead/base/names/agent-files.ts'
import { unfinishedPrefix } from '@fairlead/providers/images/image-store.ts'

export const descriptionName = 'backup.json'

/** Names of the folders in the data directory in which a backup is put together or taken apart. */
export const workFolderPrefix = '.backup-'

export interface Description {
  readonly format: 1
  readonly version: string
  readonly createdAt: string
  readonly dataDir: string
  readonly hasSecretsKey: boolean
}

interface Contents {
  readonly databases: readonly string[]
  readonly others: readonly string[]
}

/** Each belongs to processes of this directory, or is made again where it is missing. Programs write into volumes meanwhile. */
const leftOut = new Set([
  ...[
    'lock.db',
    'server.json',
    'lease.json',
    'litestream.json',
    'litestream.yml',
    'accounts',
    'bake-caches',
    'build-caches',
    descriptionName,
  ],
  ...[
    agentKeyName,
    agentLockName,
    agentLogName,
    trafficName,
    frontFolderName,
    instancesFolderName,
    volumesFolderName,
  ],
])
const leftOutPattern =
  /\.(sock|new)$|-(wal|shm|journal)$|^lost\+found$|^\.backends\.db-litestream$|^outdated-/

export function contentsOf(dataDir: string, secretsKey: string | undefined): Contents {
  const names = readdirSync(dataDir)
    .filter(
      (name) =>
        !leftOut.has(name) &&
        name !== secretsKey &&
        !leftOutPattern.test(name) &&
        !name.startsWith(workFolderPrefix),
    )
    .sort()
  const isDatabase = (name: string) => name.endsWith('.db')
  return { databases: names.filter(isDatabase), others: names.filter((name) => !isDatabase(name)) }
}

export function isUnfinished(path: string): boolean {
  return path.includes(`images/${unfinishedPrefix}`)
}
