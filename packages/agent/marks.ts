/** Marks of instances' processes in their environment, which no other program can forge. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentKeyName } from '@fairlead/base/names/agent-files.ts'
import { writePrivateFile } from '@fairlead/base/storage/private-files.ts'
import { markOfDataDir } from '@fairlead/base/storage/socket-path.ts'

export interface ProcessMark {
  /** Digest of the data directory. */
  readonly agentMark: string
  readonly instanceId: string
  readonly runId: string
}

export interface Marks {
  readonly agentMark: string
  format(instanceId: string, runId: string): string
  /** Undefined for a text that is no mark of this data directory. */
  check(text: string | undefined): ProcessMark | undefined
}

const keyBytes = 32

/** Creates the key of the data directory, if there is none. @throws as the file system does */
export function openMarks(dataDir: string): Marks {
  const key = loadKey(join(dataDir, agentKeyName))
  const agentMark = markOfDataDir(dataDir)
  // A copy of the data directory has the same key, and other instances.
  const sign = (instanceId: string) =>
    createHmac('sha256', key).update(`${agentMark}:${instanceId}`).digest('hex').slice(0, 32)
  return {
    agentMark,
    format: (instanceId, runId) => `${agentMark}:${instanceId}:${runId}:${sign(instanceId)}`,
    check(text) {
      const mark = parseMark(text)
      if (mark?.agentMark !== agentMark) return undefined
      const [given = '', right] = [text?.split(':')[3], sign(mark.instanceId)]
      return given.length === right.length &&
        timingSafeEqual(Buffer.from(given), Buffer.from(right))
        ? mark
        : undefined
    },
  }
}

/** What a text says, be it signed or not. */
export function parseMark(text: string | undefined): ProcessMark | undefined {
  const [agentMark, instanceId, runId] = text?.split(':') ?? []
  if (agentMark === undefined || instanceId === undefined || runId === undefined) return undefined
  return { agentMark, instanceId, runId }
}

function loadKey(file: string): Buffer {
  try {
    const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'hex')
    if (key.length === keyBytes) return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const key = randomBytes(keyBytes)
  writePrivateFile(file, `${key.toString('hex')}\n`)
  return key
}
