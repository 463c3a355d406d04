/** Failures of a command: exit code, cause and remedy. */

/** What the exit code of a process tells a script. */
export const exitCodes = {
  done: 0,
  /** The run, build, release or check failed, was canceled or rejected. */
  failed: 1,
  differences: 2,
  /** Wrong use, or an invalid file. */
  misuse: 3,
  /** Not logged in, or not allowed. */
  denied: 4,
  /** The instance is not reached or not trusted, or does not have the operation. */
  unreachable: 5,
  /** `--timeout` has passed; the run goes on. */
  timeout: 6,
  /** A question could not be asked. */
  unasked: 7,
  interrupted: 130,
  terminated: 143,
} as const

interface FailureDetails {
  /** What to type or change; a sentence. */
  readonly remedy?: string | undefined
  /** Line of the wrong file. */
  readonly line?: number | undefined
  readonly cause?: unknown
}

/** Ends a command. `code` is upper case with underscores, for scripts; `message` says what failed and why. */
export class Failure extends Error {
  readonly exit: number
  readonly code: string
  readonly remedy: string | undefined
  readonly line: number | undefined

  constructor(
    exit: number,
    code: string,
    message: string,
    { remedy, line, cause }: FailureDetails = {},
  ) {
    super(message, { cause })
    this.exit = exit
    this.code = code
    this.remedy = remedy
    this.line = line
  }
}

/** Wrong use of a command. */
export function misuse(message: string, remedy?: string): Failure {
  return new Failure(exitCodes.misuse, 'WRONG_USE', message, { remedy })
}

/** A defect keeps its stack, so that a report has it. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  const { code, path, message, stack } = error as NodeJS.ErrnoException
  if (code !== undefined && path !== undefined) {
    return new Failure(exitCodes.misuse, code, `${path} cannot be used: ${message}.`, {
      remedy: 'Check that the file exists and that you may read and write it.',
      cause: error,
    })
  }
  return new Failure(exitCodes.failed, 'DEFECT', stack ?? String(error), {
    remedy: 'This is a defect of the command line. Please report it with these lines.',
    cause: error,
  })
}
