/** 405 instead of 404 for a path that exists with other methods only. */

import { PortError } from '@fairlead/ports/port-error.ts'
import type { FastifyInstance } from 'fastify'

/** Call it before the routes are added. */
export function refuseOtherMethods(app: FastifyInstance): void {
  const offered: { method: string; segments: string[] }[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) offered.push({ method: one, segments: url.split('/') })
  })
  app.setNotFoundHandler((request, reply) => {
    const segments = (request.url.split('?')[0] as string).replace(/\/$/, '').split('/')
    const methods = offered.filter((route) => fits(route.segments, segments)).map((route) => route.method)
    if (methods.length === 0) {
      throw new PortError(404, `No ${request.method} operation has this path.`, { exception: 'NotFound' })
    }
    const known = [...new Set(methods)].join(', ')
    reply.header('allow', known)
    throw new PortError(405, `This path is not offered with ${request.method}, only with ${known}.`, {
      exception: 'MethodNotAllowed',
    })
  })
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return pattern.length === segments.length && pattern.every((part, index) => part.startsWith(':') || part === segments[index])
}
