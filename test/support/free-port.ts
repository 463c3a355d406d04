/** Ports of loopback for programs that have to be told which ones to take. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { tryPort } from '../../packages/base/net/try-port.ts'
import type { TestEnd } from './test-end.ts'
import { waitFor } from './wait-until.ts'

/** Below the ports that systems hand out on their own, so that no other test is given it meanwhile. */
const range = { from: 20_000, to: 30_000 } as const
/** Ports of deployed programs; each block belongs to one test at a time. */
const blocks = { from: 10_000, to: 20_000, size: 200 } as const

export interface PortBlock {
  readonly first: number
  readonly last: number
}

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(range.from, range.to)
    if ((await tryPort('127.0.0.1', port)) === undefined) return port
  }
}

/** Those of this process whose tests have ended. */
const endedBlocks: PortBlock[] = []

/** Ports that no other test has until this one ends, or as long as the process runs. */
export async function claimPorts(t?: TestEnd): Promise<PortBlock> {
  const block = endedBlocks.shift() ?? (await waitFor(claimBlock, 'a block of ports'))
  t?.after(() => endedBlocks.push(block))
  return block
}

async function claimBlock(): Promise<PortBlock | undefined> {
  const count = (blocks.to - blocks.from) / blocks.size
  const start = randomInt(count)
  for (let index = 0; index < count; index++) {
    const first = blocks.from + blocks.size * ((start + index) % count)
    const last = first + blocks.size - 1
    // The last one is the mark of the claim.
    if (await holdPort(last)) return { first, last: last - 1 }
  }
  return undefined
}

function holdPort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy()).unref()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => resolve(true))
  })
}
