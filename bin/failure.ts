/** Errors that end a command: one line with cause and remedy. */

import { explainDatabaseFault } from '@fairlead/base/storage/database-fault.ts'
import { explainListeningFault, portSettings } from '@fairlead/gateway/http/ports.ts'
import type { HttpSettings } from '@fairlead/gateway/http/settings.ts'

/** Errors of the program itself; only they are shown with their stack. */
const defects = [TypeError, ReferenceError, RangeError, SyntaxError]

/** @param http Where the gateway listens, if that is what failed. */
export function explainFailure(error: unknown, http?: HttpSettings): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined && defects.some((kind) => error instanceof kind)) {
    return `This is a defect of Fairlead. Please report it with these lines:\n${error.stack}`
  }
  const explained =
    explainListening(error, http) ?? explainFile(error) ?? explainDatabaseFault(error).message
  return explained || String(error)
}

function explainListening(
  error: NodeJS.ErrnoException,
  http: HttpSettings | undefined,
): string | undefined {
  const { code, syscall, port, address, hostname } = error as NodeJS.ErrnoException &
    Partial<{ port: number; address: string; hostname: string }>
  const isLookup = syscall === 'getaddrinfo' && http !== undefined && hostname === http.address
  if (syscall !== 'listen' && !isLookup) return undefined
  const [key = 'server.port'] =
    (http && portSettings(http).find(([, number]) => number === port)) ?? []
  return explainListeningFault({ code, address: address ?? hostname, port, key })
}

const fileFaults: Readonly<Record<string, string>> = {
  EACCES: 'may not be used by this user. Give it the right, or start as another user.',
  EPERM: 'may not be used by this user. Give it the right, or start as another user.',
  EROFS: 'lies on a read-only file system. Name another place.',
  ENOSPC: 'cannot be written: the disk is full. Free some space, then try again.',
  EDQUOT: 'cannot be written: the quota of this user is used up. Free some space, then try again.',
  EFBIG:
    'cannot be written: it reaches the largest size of files that this process may write (ulimit -f).',
  EMFILE: 'cannot be opened: this process has too many open files. Raise the limit (ulimit -n).',
}

function explainFile({ code = '', path, syscall }: NodeJS.ErrnoException): string | undefined {
  const fault = fileFaults[code]
  return fault === undefined || syscall === 'connect' ? undefined : `${path ?? 'A file'} ${fault}`
}
