/** States of executions, stages, tasks and instances: one word, one shape and one tone each. */

export type Kind =
  | 'succeeded'
  | 'running'
  | 'failed'
  | 'warning'
  | 'waiting'
  | 'paused'
  | 'queued'
  | 'skipped'
  | 'cancelled'
  | 'disabled'
  | 'unknown'

export interface Status {
  readonly kind: Kind
  readonly word: string
}

const ofExecutions: Readonly<Record<string, Status>> = {
  SUCCEEDED: { kind: 'succeeded', word: 'succeeded' },
  RUNNING: { kind: 'running', word: 'running' },
  TERMINAL: { kind: 'failed', word: 'failed' },
  FAILED_CONTINUE: { kind: 'warning', word: 'failed, went on' },
  STOPPED: { kind: 'warning', word: 'stopped' },
  PAUSED: { kind: 'paused', word: 'paused' },
  SUSPENDED: { kind: 'paused', word: 'suspended' },
  NOT_STARTED: { kind: 'queued', word: 'not started' },
  BUFFERED: { kind: 'queued', word: 'queued' },
  REDIRECT: { kind: 'running', word: 'running' },
  SKIPPED: { kind: 'skipped', word: 'skipped' },
  CANCELED: { kind: 'cancelled', word: 'cancelled' },
}

const ofInstances: Readonly<Record<string, Status>> = {
  Up: { kind: 'succeeded', word: 'up' },
  Down: { kind: 'failed', word: 'down' },
  Failed: { kind: 'failed', word: 'failed' },
  Starting: { kind: 'running', word: 'starting' },
  Running: { kind: 'running', word: 'running' },
  OutOfService: { kind: 'disabled', word: 'out of service' },
  Draining: { kind: 'disabled', word: 'draining' },
  Succeeded: { kind: 'succeeded', word: 'succeeded' },
  Unknown: { kind: 'unknown', word: 'unknown' },
}

/** Those that lists are filtered by, with their words. */
export const mainStates = [
  ['RUNNING', 'Running'],
  ['SUCCEEDED', 'Succeeded'],
  ['TERMINAL', 'Failed'],
  ['CANCELED', 'Cancelled'],
] as const

export const waitingForJudgment: Status = { kind: 'waiting', word: 'waiting for judgment' }

export function executionStatus(status: string | undefined): Status {
  return ofExecutions[status ?? ''] ?? { kind: 'unknown', word: status ?? 'unknown' }
}

export function instanceStatus(health: string | null | undefined): Status {
  return ofInstances[health ?? ''] ?? { kind: 'unknown', word: health ?? 'unknown' }
}

const ended = new Set(['SUCCEEDED', 'TERMINAL', 'FAILED_CONTINUE', 'STOPPED', 'SKIPPED', 'CANCELED'])

/** Whether nothing will change by itself any more. */
export function isComplete(status: string | undefined): boolean {
  return ended.has(status ?? '')
}

export function isFailed(status: string | undefined): boolean {
  return status === 'TERMINAL'
}
