/** Whether the data directory takes what is written: a full disk, a quota, or a file system that has become read-only. */
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'

const intervalMs = 5000
/** More than the largest usual record, and than what some file systems keep inside their tables. */
const probeBytes = 256 * 1024

/** A directory that does not exist yet, or that this user may not write, is reported at the start. */
const lackOfRoom: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])

export interface RoomProbe {
  /** By the last attempt. */
  hasRoom(): boolean
  start(): void
  close(): void
}

/** Writes a file there every few seconds, and removes it again. */
export function createRoomProbe(folder: string, log: FastifyBaseLogger): RoomProbe {
  const file = join(folder, `.room-${process.pid}-${randomUUID()}`)
  const content = Buffer.alloc(probeBytes, 1)
  let fault: string | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  async function look(): Promise<void> {
    const found = await attempt()
    if (found !== undefined && fault === undefined)
      log.error({ folder, code: found }, 'the data directory takes no more files: make room; readiness fails until then')
    if (found === undefined && fault !== undefined) log.info({ folder }, 'the data directory takes files again')
    fault = found
    if (!isClosed) timer = setTimeout(() => void look(), intervalMs).unref()
  }

  /** @returns the code of what failed */
  async function attempt(): Promise<string | undefined> {
    try {
      await writeFile(file, content, { mode: 0o600 })
      return undefined
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException
      return lackOfRoom.has(code) ? code : undefined
    } finally {
      await rm(file, { force: true }).catch(() => undefined)
    }
  }

  return {
    hasRoom: () => fault === undefined,
    start: () => void look(),
    close: () => {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
