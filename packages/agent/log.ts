/** The agent's log: JSON lines on standard error, redirected to the data directory. */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'

const pieceBytes = 64 * 1024

type Write = (fields: object, text: string) => void

/** The part of a pino log that the agent and its client use. */
export interface AgentLog {
  readonly info: Write
  readonly warn: Write
  readonly error: Write
}

/** @param write Takes one line, line end included. */
export function createAgentLog(write: (line: string) => void): AgentLog {
  const writer =
    (level: string): Write =>
    (fields, text) => {
      write(
        `${JSON.stringify({ time: new Date().toISOString(), level, msg: text, ...toPlain(fields) })}\n`,
      )
    }
  return { info: writer('info'), warn: writer('warn'), error: writer('error') }
}

/** Errors have no enumerable properties. */
function toPlain(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? (value.stack ?? value.message) : value,
    ]),
  )
}

/** The caller hands it to a process, and closes it. */
export function openAgentLog(file: string): number {
  return openSync(file, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600)
}

/** Keeps the newest half of a log that has reached its bound. In place, so that it works on a full disk. */
export function boundLog(file: string, maxBytes: number): void {
  const descriptor = openSync(file, 'r+')
  try {
    const { size } = fstatSync(descriptor)
    if (size <= maxBytes) return
    const bytes = Math.floor(maxBytes / 2)
    const piece = Buffer.alloc(pieceBytes)
    let at = 0
    for (let count = -1; count !== 0; at += count) {
      count = readSync(descriptor, piece, 0, piece.length, size - bytes + at)
      writeSync(descriptor, piece, 0, count, at)
    }
    ftruncateSync(descriptor, at)
  } finally {
    closeSync(descriptor)
  }
}
