/** The number of files and connections that this process may have open. */
import { readFileSync } from 'node:fs'

/** Node has raised the limit as far as it may. Only Linux tells; elsewhere there is none. */
export function readDescriptorLimit(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
