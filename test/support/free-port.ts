/** A port of loopback that nothing listens on, for programs that have to be told which one to take. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below the ports that systems hand out on their own, and below those of deployed programs, so that neither is given it meanwhile. */
const range = { from: 10_000, to: 20_000 } as const

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(range.from, range.to)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
