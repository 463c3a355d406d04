/** The process of `fairlead serve`, recorded in its data directory so that another command can find it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProcessIdentity } from '@fairlead/agent/instance-files.ts'
import { isSameProcess } from '@fairlead/agent/instance-processes.ts'
import { openProcessTable } from '@fairlead/agent/processes.ts'
import { writePrivateFile } from '@fairlead/base/storage/private-files.ts'

/** For the process that holds the lock of the data directory. */
export function recordServer(dataDir: string): void {
  const { pid } = process
  const record: ProcessIdentity = { pid, start: openProcessTable().find(pid)?.start ?? '' }
  writePrivateFile(fileIn(dataDir), JSON.stringify(record), false)
}

/** Asks whether the server still runs; undefined when none does. */
export function findServer(
  dataDir: string,
): { readonly pid: number; isRunning(): boolean } | undefined {
  const record = readRecord(dataDir)
  if (record === undefined) return undefined
  const table = openProcessTable()
  const isRunning = () => isSameProcess(table, record)
  return isRunning() ? { pid: record.pid, isRunning } : undefined
}

function readRecord(dataDir: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(fileIn(dataDir), 'utf8')) as ProcessIdentity
  } catch {
    return undefined
  }
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'server.json')
}
