/** A log inside the worker thread that hands its lines to the main thread, so that there is one stream of log lines. */
import type { FastifyBaseLogger } from 'fastify'

/** A line on its way to the main thread; plain data. */
export interface LogLine {
  kind: 'log'
  level: string
  fields: Record<string, unknown>
  text: string
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

export function createWorkerLog(
  level: string,
  tell: (line: LogLine) => void,
  bindings: Record<string, unknown> = {},
): FastifyBaseLogger {
  const lowest = levels.indexOf(level as (typeof levels)[number])
  const writer =
    (name: (typeof levels)[number]) =>
    (first: unknown, second?: unknown): void => {
      if (levels.indexOf(name) < lowest) return
      const fields = typeof first === 'string' ? {} : toFields(first)
      const text = typeof first === 'string' ? first : typeof second === 'string' ? second : ''
      tell({ kind: 'log', level: name, fields: { ...bindings, ...fields }, text })
    }
  return {
    level,
    trace: writer('trace'),
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
    fatal: writer('fatal'),
    silent: () => {},
    child: (more: Record<string, unknown>) => createWorkerLog(level, tell, { ...bindings, ...more }),
  } as FastifyBaseLogger
}

/** Errors do not cross threads whole; their name, message and stack do. */
function toFields(value: unknown): Record<string, unknown> {
  if (value instanceof Error) return { err: toPlainError(value) }
  if (typeof value !== 'object' || value === null) return { value }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, member instanceof Error ? toPlainError(member) : toCloneable(member)]),
  )
}

function toPlainError(error: Error): Record<string, unknown> {
  return { type: error.name, message: error.message, stack: error.stack }
}

function toCloneable(member: unknown): unknown {
  return typeof member === 'object' && member !== null
    ? JSON.parse(JSON.stringify(member))
    : typeof member === 'function'
      ? undefined
      : member
}
