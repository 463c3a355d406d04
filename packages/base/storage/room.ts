/** Whether the data directory takes what is written: a full disk, a quota, or a file system that has become read-only. */
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'

const intervalMs = 5000
/** More than the largest usual record, and than what some file systems keep inside their tables. */
const probeBytes = 256 * 1024

/** A directory that does not exist yet, or that this user may not write, is reported at the start. */
const lackOfRoom: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])

/** Writes a file there every few seconds, and removes it again. */
export function openRoomProbe(folder: string, log: FastifyBaseLogger) {
  const file = join(folder, `.room-${process.pid}-${randomUUID()}`)
  let fault: string | undefined
  let isClosed = false
  const watch = async () => {
    while (!isClosed) {
      const found = await findFault(file)
      if (found !== undefined && fault === undefined)
        log.error(
          { folder, code: found },
          'the data directory takes no more files: make room; readiness fails until then',
        )
      if (found === undefined && fault !== undefined)
        log.info({ folder }, 'the data directory takes files again')
      fault = found
      await sleep(intervalMs, undefined, { ref: false })
    }
  }
  void watch()
  return {
    hasRoom: () => fault === undefined,
    close: () => {
      isClosed = true
    },
  }
}

/** @returns the code of what failed */
async function findFault(file: string): Promise<string | undefined> {
  try {
    await writeFile(file, Buffer.alloc(probeBytes, 1), { mode: 0o600 })
    return undefined
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    return lackOfRoom.has(code) ? code : undefined
  } finally {
    await rm(file, { force: true }).catch(() => undefined)
  }
}
