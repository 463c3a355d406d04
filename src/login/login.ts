/** The login as the rest of the gateway sees it: a request step that finds the user, and what the /auth operations need. */
import type { FastifyInstance } from 'fastify'
import type { RequestStep } from '../http/request-state.ts'

export interface Login {
  /** False when everyone is served as the user anonymous. */
  readonly active: boolean
  /** Names of the methods that guard the listener, for the start-up line. */
  readonly methods: readonly string[]
  /** Steps, in order, that find the user of a request and refuse protected paths without one. */
  readonly steps: readonly RequestStep[]
  /** Adds the login page and callbacks. */
  mount(server: FastifyInstance): void
  close(): Promise<void> | void
}
