/** Lines of the log that are formatted as one object; pino formats each name and each value by itself. */
import pino, { type Level, type Logger } from 'pino'
import { isOn } from './without.ts'

const { symbols } = pino
const chindingsSym: typeof symbols.chindingsSym = symbols.chindingsSym
const lsCacheSym: typeof symbols.lsCacheSym = symbols.lsCacheSym
const streamSym: typeof symbols.streamSym = symbols.streamSym
const timeSym: typeof symbols.timeSym = symbols.timeSym

/** What a logger keeps of each line: its beginning by level, the time, the fields of every line, and where lines go. */
interface LoggerParts {
  readonly [lsCacheSym]?: Readonly<Record<number, string>>
  readonly [timeSym]?: () => string
  readonly [chindingsSym]?: string
  readonly [streamSym]?: { write(line: string): void }
}

/**
 * Writes what `log[level](fields, message)` writes, past its hooks. Should pino no longer have these parts, it writes the line itself.
 *
 * @param fields No errors and no `undefined` only: at least one has a value
 */
export function writeLine(log: Logger, level: Level, fields: Readonly<Record<string, unknown>>, message: string): void {
  if (!log.isLevelEnabled(level)) return
  const parts = log as unknown as LoggerParts
  const start = parts[lsCacheSym]?.[pino.levels.values[level] ?? 0]
  const stream = parts[streamSym]
  if (!isOneObject || start === undefined || stream === undefined) {
    log[level](fields, message)
    return
  }
  const inner = JSON.stringify(fields).slice(1, -1)
  stream.write(`${start}${parts[timeSym]?.() ?? ''}${parts[chindingsSym] ?? ''},${inner},"msg":${JSON.stringify(message)}}\n`)
}

const isOneObject = isOn('log-line')
