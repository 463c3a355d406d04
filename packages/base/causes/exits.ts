/** What an exit says by itself: codes, signals, and the codes of some tools. */
import type { CauseKind, Ending } from './cause.ts'

type Words = readonly [text: string, kind: CauseKind]

const signals: Readonly<Record<number, readonly [name: string, text: string, kind: CauseKind]>> = {
  1: ['SIGHUP', 'hung up', 'killed'],
  2: ['SIGINT', 'interrupted', 'killed'],
  3: ['SIGQUIT', 'quit', 'killed'],
  4: ['SIGILL', 'crashed', 'code'],
  6: ['SIGABRT', 'crashed', 'code'],
  7: ['SIGBUS', 'crashed', 'code'],
  8: ['SIGFPE', 'crashed', 'code'],
  9: ['SIGKILL', 'killed', 'killed'],
  11: ['SIGSEGV', 'crashed', 'code'],
  13: ['SIGPIPE', 'broken pipe', 'killed'],
  15: ['SIGTERM', 'terminated', 'killed'],
}
const afterSignal = 128

const codes: Readonly<Record<number, Words>> = {
  64: ['wrong usage', 'configuration'],
  69: ['service unavailable', 'network'],
  75: ['temporary failure', 'unknown'],
  77: ['permission denied', 'permission'],
  78: ['configuration error', 'configuration'],
  124: ['stopped by timeout', 'timeout'],
  125: ['the container runtime failed', 'configuration'],
  126: ['not executable', 'permission'],
  127: ['command not found', 'configuration'],
}

const codesOfTools: Readonly<Record<string, Readonly<Record<number, Words>>>> = {
  pytest: {
    2: ['interrupted', 'test'],
    3: ['internal error', 'unknown'],
    4: ['wrong usage', 'configuration'],
    5: ['no tests collected', 'test'],
  },
  curl: {
    6: ['host name not resolved', 'network'],
    7: ['connection refused', 'network'],
    22: ['HTTP error', 'network'],
    28: ['timed out', 'timeout'],
    35: ['TLS handshake failed', 'network'],
    60: ['certificate not trusted', 'network'],
  },
  cargo: { 101: ['panicked', 'code'] },
  gunicorn: { 3: ['worker failed to boot', 'unknown'] },
  ansible: { 4: ['hosts unreachable', 'network'] },
  ssh: { 255: ['connection failed', 'network'] },
  systemd: {
    200: ['working directory not accessible', 'configuration'],
    203: ['not executable', 'configuration'],
    217: ['user not found', 'configuration'],
  },
}

/** Number of the signal that has ended a program; undefined if none has. */
export function signalOf({ exitCode, signal }: Ending): number | undefined {
  const named = Object.entries(signals).find(([, [name]]) => name === signal)?.[0]
  if (named !== undefined) return Number(named)
  const number = (exitCode ?? 0) - afterSignal
  return number in signals ? number : undefined
}

/** Undefined if the end says nothing. @param tool That wrote the output, as far as it is known */
export function describeEnding(
  ending: Ending,
  tool: string,
): { readonly text: string; readonly kind: CauseKind } | undefined {
  const { exitCode, signal, isOutOfMemory, reason } = ending
  if (reason !== undefined) return reason
  const number = signalOf(ending)
  const exit = exitCode ?? (number === undefined ? undefined : afterSignal + number)
  if (isOutOfMemory === true)
    return { text: `out of memory (OOMKilled, exit ${exit ?? 137})`, kind: 'resource' }
  if (number !== undefined) {
    const [name, text, kind] = signals[number] as (typeof signals)[number]
    return { text: `${text} (${signal ?? name}, exit ${exit})`, kind }
  }
  const words = codesOfTools[tool]?.[exit ?? 0] ?? codes[exit ?? 0]
  return words && { text: `${words[0]} (exit ${exit})`, kind: words[1] }
}
