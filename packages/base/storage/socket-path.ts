/** Unix sockets and marks of processes of a data directory. */
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPrivateFolder } from './private-files.ts'

/** The path of a Unix socket may have about a hundred bytes; a deep data directory gets one in the temporary directory. */
export function socketPathFor(
  dataDir: string,
  name: 'backends.sock' | 'agent.sock' | 'litestream.sock',
): string {
  const path = join(dataDir, name)
  if (Buffer.byteLength(path) < 100) return path
  const dir = join(
    tmpdir(),
    `fairlead-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`,
  )
  openPrivateFolder(dir)
  return join(dir, name)
}

/** What marks processes as belonging to a data directory; the same however its path is written. */
export function markOfDataDir(dataDir: string): string {
  return createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16)
}
