/** A request for an operation, with what the operation declares. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EchoedHeaders, Validation } from '../../http/answer.ts'
import type { AnswerForm } from '../../upstreams/answer-form.ts'
import type { CallClass } from '../../upstreams/endpoint.ts'
import type { Guard } from '../access/guard.ts'
import type { Operation } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { type ForwardedCall, routeOf } from '../route.ts'
import type { ConditionalRead } from '../unchanged-reads.ts'
import { answerFormOf } from './answer-form.ts'
import { createQueryRules, type QueryRule } from './parse-query.ts'

export interface MountSettings extends Validation {
  echoedHeaders: EchoedHeaders
}

/** What an operation declares, worked out once. */
interface Declarations {
  readonly operation: Operation
  readonly forward: ForwardedCall | undefined
  readonly rules: readonly QueryRule[]
  readonly form: AnswerForm
  /** Which timeout its calls have; undefined for most reads. */
  readonly callClass: CallClass | undefined
}

/** As many requests as a list over everything counts for. */
const listCost = 5

const declarations = new WeakMap<Operation, Declarations>()

export function declarationsOf(operation: Operation): Declarations {
  return declarations.getOrInsertComputed(operation, () => ({
    operation,
    forward: routeOf(operation).forward,
    rules: createQueryRules(operation.query),
    form: answerFormOf(operation.answer),
    callClass: callClassOf(operation),
  }))
}

/** Lists over everything may take a service longer than other reads, and what a change reads belongs to it. */
function callClassOf({ method, cost }: Operation): CallClass | undefined {
  if (method !== 'GET') return { isForChange: true }
  return cost === listCost ? { isList: true } : undefined
}

export interface Surroundings {
  readonly platform: Platform
  readonly settings: MountSettings
  readonly guard: Guard
}

/** A request for an operation. */
export class Exchange {
  readonly declared: Declarations
  readonly surroundings: Surroundings
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Set where a 304 is kept. */
  conditional: ConditionalRead | undefined = undefined
  #gone: AbortController | undefined

  constructor(declared: Declarations, surroundings: Surroundings, request: FastifyRequest, reply: FastifyReply) {
    this.declared = declared
    this.surroundings = surroundings
    this.request = request
    this.reply = reply
  }

  get operation(): Operation {
    return this.declared.operation
  }

  get form(): AnswerForm {
    return this.declared.form
  }

  get platform(): Platform {
    return this.surroundings.platform
  }

  get guard(): Guard {
    return this.surroundings.guard
  }

  /** Fires when the client goes away. Reads end then; what changes something is carried through. */
  goneSignal(): AbortSignal {
    if (this.#gone !== undefined) return this.#gone.signal
    const { raw } = this.reply
    const gone = new AbortController()
    this.#gone = gone
    if (raw.destroyed) gone.abort()
    raw.on('close', () => {
      if (!raw.writableFinished) gone.abort()
    })
    return gone.signal
  }
}
