/** Propagation of the trace context from a request to the calls that it causes. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallService } from '@fairlead/ports/service-call.ts'
import type { FastifyInstance } from 'fastify'

const names = ['traceparent', 'tracestate', 'baggage'] as const

interface TraceState {
  /** Cleared when the request is over: timers that it has set do other work, too. */
  headers: Readonly<Record<string, string>> | undefined
}

/** @returns `call` with the headers of the request that causes it */
export function passTraceOn(call: CallService): {
  call: CallService
  watch(server: FastifyInstance): void
} {
  const current = new AsyncLocalStorage<TraceState>()
  const passed = new WeakMap<object, TraceState>()
  return {
    call: (service, asked) => {
      const headers = current.getStore()?.headers
      return call(
        service,
        headers === undefined ? asked : { ...asked, headers: { ...asked.headers, ...headers } },
      )
    },
    watch(server) {
      // Not earlier: what reads the body goes on in the context of the connection.
      server.addHook('preHandler', (request, _reply, done) => {
        const found = names.flatMap((name) => {
          const value = request.headers[name]
          return typeof value === 'string' ? [[name, value] as const] : []
        })
        if (found.length === 0) return done()
        const state: TraceState = { headers: Object.fromEntries(found) }
        passed.set(request, state)
        current.run(state, done)
      })
      server.addHook('onResponse', (request, _reply, done) => {
        const state = passed.get(request)
        if (state !== undefined) state.headers = undefined
        done()
      })
    },
  }
}
