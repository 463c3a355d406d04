/** `fairlead health`: asks the Fairlead of this configuration how it is, as the health check of a container does. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { HttpSettings } from '@fairlead/gateway/http/settings.ts'
import { Client } from 'undici'
import { readArguments } from './arguments.ts'
import { configOption, readConfig } from './read-config.ts'

const options = { ready: { type: 'boolean', default: false }, ...configOption } as const
const timeoutMs = 5000
const everyAddress = new Set(['0.0.0.0', '::'])

export async function run(args: readonly string[]): Promise<number> {
  const { values } = readArguments(args, { command: 'health', options })
  const { http } = (await readConfig(args)).config
  const { host, port, scheme } = placeOf(http)
  const url = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
  try {
    const needsCertificate = scheme === 'https' && http.listeners.clientCertificates === 'need'
    const status = needsCertificate
      ? await reach(host, port)
      : await ask(`${url}${values.ready ? '/readyz' : '/livez'}`)
    process[status === 200 ? 'stdout' : 'stderr'].write(`${url} answers with ${status}.\n`)
    return status === 200 ? 0 : 1
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    process.stderr.write(
      `${url} does not answer (${code ?? message}). Look at the log of Fairlead.\n`,
    )
    return 1
  }
}

/** The port for probes, where there is one. */
function placeOf({ address, port, listeners }: HttpSettings): {
  host: string
  port: number
  scheme: 'http' | 'https'
} {
  const { managementPort, mainTls } = listeners
  const host = everyAddress.has(address) ? '127.0.0.1' : address
  if (managementPort !== undefined) return { host, port: managementPort, scheme: 'http' }
  return { host, port, scheme: mainTls ? 'https' : 'http' }
}

/** The certificate names a host that is not this one. */
async function ask(url: string): Promise<number> {
  const { origin, pathname } = new URL(url)
  const client = new Client(origin, { connect: { rejectUnauthorized: false } })
  try {
    const { statusCode, body } = await client.request({
      method: 'GET',
      path: pathname,
      signal: AbortSignal.timeout(timeoutMs),
    })
    await body.dump()
    return statusCode
  } finally {
    await client.destroy()
  }
}

async function reach(host: string, port: number): Promise<number> {
  const socket = connect({ host, port })
  await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) })
  socket.destroy()
  return 200
}
