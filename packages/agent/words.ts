/** Ends of processes in words. */
import { constants } from 'node:os'

/** How a process ended: with a code, by a signal, or, where no agent watched, unknown. */
export interface ProgramEnd {
  readonly exitCode: number | undefined
  readonly signal: string | undefined
}

/** The rest of a sentence that begins with "It". */
export function describeProgramEnd({ exitCode, signal }: ProgramEnd): string {
  if (signal === 'SIGKILL')
    return 'was ended by SIGKILL, which the system sends when memory runs out'
  if (signal !== undefined) return `was ended by ${signal}`
  if (exitCode === undefined) return 'ended while no agent watched it, so its exit code is unknown'
  if (exitCode === 127)
    return 'ended with exit code 127: the program, or the interpreter that it names, does not exist'
  if (exitCode === 126) return 'ended with exit code 126: the program may not be executed'
  return `ended with exit code ${exitCode}`
}

/** A shell reports the end by a signal as an exit code above 128. */
export function endFromShell(code: number): ProgramEnd {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0]
  return signal === undefined
    ? { exitCode: code, signal: undefined }
    : { exitCode: undefined, signal }
}
