/** Statuses of executions, stages and tasks, and their effects. @see docs/contracts/orchestration.md#statuses */

interface StatusMeaning {
  readonly complete: boolean
  /** What follows in the same branch does not run. */
  readonly halt: boolean
}

const running: StatusMeaning = { complete: false, halt: false }
const fine: StatusMeaning = { complete: true, halt: false }
const halted: StatusMeaning = { complete: true, halt: true }

export const statuses = {
  NOT_STARTED: running,
  BUFFERED: running,
  RUNNING: running,
  PAUSED: running,
  SUSPENDED: running,
  REDIRECT: running,
  SUCCEEDED: fine,
  FAILED_CONTINUE: fine,
  SKIPPED: fine,
  TERMINAL: halted,
  CANCELED: halted,
  STOPPED: halted,
} as const satisfies Record<string, StatusMeaning>

export type Status = keyof typeof statuses

export function isComplete(status: Status): boolean {
  return statuses[status].complete
}

export function isHalt(status: Status): boolean {
  return statuses[status].halt
}

/** Complete, and what requires it may run. */
export function isFine(status: Status): boolean {
  return statuses[status].complete && !statuses[status].halt
}

/** Begun and not complete. */
export function isActive(status: Status): boolean {
  return !statuses[status].complete && status !== 'NOT_STARTED' && status !== 'BUFFERED'
}

/** Words of pipeline triggers for the end of the pipeline that they follow. Runs of this engine never end suspended. */
export const completionWords = ['successful', 'failed', 'canceled', 'suspended'] as const

export function completionWord(status: Status): (typeof completionWords)[number] {
  if (status === 'SUCCEEDED') return 'successful'
  return status === 'CANCELED' ? 'canceled' : 'failed'
}
