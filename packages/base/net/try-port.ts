/** Whether a program could listen on a port. */
import { createServer } from 'node:net'

/** The code of the error that a program would get that listens there now, such as `EADDRINUSE`; undefined when the port is free. */
export function tryPort(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const server = createServer()
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  return promise
}
