/**
 * Effects of a failure: the author's failure options, and the error record.
 *
 * @see docs/contracts/orchestration.md#failure-options
 */
import { type Cause, toCause } from '@fairlead/base/causes/cause.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, listOf, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { isFalse, optionsOf, type Stage } from '../model.ts'
import type { Status } from '../statuses.ts'

/** An error whose texts and details belong into the error record. */
export class StageError extends Error {
  readonly errors: readonly string[]
  /** Members that are added to `details`. */
  readonly details: JsonObject

  constructor(errors: readonly string[], details: JsonObject = {}) {
    super(errors[0] ?? 'The stage failed.')
    this.name = 'StageError'
    this.errors = errors
    this.details = details
  }
}

/** A call to another service failed in a way that may pass; the step is tried again after its pause. */
export class RetryableError extends StageError {
  override readonly name: string = 'RetryableError'
}

/** What a step has begun was not known in time; it is undone once it is. */
export class UnansweredError extends StageError {}

/** The status that a failure gives the stage, by its own context alone. */
export function failureStatus(stage: Stage, whenHalting: Status = 'TERMINAL'): Status {
  if (optionsOf(stage.context).continuePipeline) return 'FAILED_CONTINUE'
  return isFalse(stage.context['failPipeline']) ? 'STOPPED' : whenHalting
}

export function errorRecord(error: unknown, operation: string, now: number): JsonObject {
  const known = error instanceof Error ? error : new Error(String(error))
  const details: JsonObject = {
    error: 'Unexpected Task Failure',
    errors: known instanceof StageError ? [...known.errors] : [known.message],
    ...(known instanceof StageError ? known.details : {}),
  }
  return {
    timestamp: now,
    exceptionType: known.name,
    operation,
    shouldRetry: known instanceof RetryableError,
    details,
  }
}

/** The error record of a step that reports a failure instead of throwing; the first text says what failed. */
export function failureRecord(
  exceptionType: string,
  errors: readonly [string, ...string[]],
  cause?: Cause,
): JsonObject {
  return {
    exceptionType,
    details: { error: errors[0], errors: [...new Set(errors)], ...(cause && { cause }) },
  }
}

/** The cause that an error record holds. */
export function causeIn(record: unknown): Cause | undefined {
  return toCaused(record).details.cause
}

const toCaused = shape({ details: shape({ cause: toCause }) })

const toParts = shape({
  details: objectOf,
  texts: [shape({ errors: listOf, error: textOf }), 'details'],
})
export const toFailure = shape({ exception: objectOf, parts: [toParts, 'exception'] })

/** Adds texts to the stage's error record and makes one if there is none; texts that it already holds are not repeated. */
export function appendErrors(stage: Stage, texts: readonly string[]): void {
  const { exception: record, parts } = toFailure(stage.context)
  const {
    details,
    texts: { errors },
  } = parts
  const added = texts.filter((text) => !errors.includes(text))
  stage.context['exception'] = { ...record, details: { ...details, errors: [...errors, ...added] } }
}

export function errorTexts(record: unknown): string[] {
  const { errors, error } = toParts(record).texts
  if (errors.length > 0) return errors.map(String)
  return error === undefined ? [] : [error]
}
