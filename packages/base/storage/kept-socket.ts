/** Keeps a server reachable whose Unix socket is removed, such as by a cleaner of the temporary directory. */
import { existsSync } from 'node:fs'
import type { Server } from 'node:net'

export interface KeptSocket {
  readonly server: Server
  /** Makes the folder, if that is gone as well. */
  readonly pathOf: () => string
  readonly listen: (path: string) => Promise<void>
  readonly log: {
    warn(fields: object, text: string): void
    error(fields: object, text: string): void
  }
}

const checkMs = 1000

/** Listens again whenever the file of the socket is gone, until the server is closed. */
export function keepSocket({ server, pathOf, listen, log }: KeptSocket): void {
  let isLost = false
  const check = async () => {
    const path = pathOf()
    if (existsSync(path)) return
    log.warn({ path }, 'a socket of the data directory is gone, and made again')
    isLost = true
    server.close()
    await listen(path)
    isLost = false
  }
  const timer = setInterval(() => {
    if (!server.listening && !isLost) return clearInterval(timer)
    check().catch((err: unknown) =>
      log.error({ err }, 'a socket of the data directory cannot be made again'),
    )
  }, checkMs).unref()
}
