/** Errors of listening on a port, with their fix. */
import type { HttpSettings } from './settings.ts'

interface ListeningFault {
  readonly code: string | undefined
  readonly address: string | undefined
  readonly port: number | undefined
  readonly key: string
}

export function portSettings({ port, listeners }: Pick<HttpSettings, 'port' | 'listeners'>): [key: string, port: number][] {
  const ports: [string, number | undefined][] = [
    ['server.port (SERVER_PORT)', port],
    ['default.apiPort', listeners.apiPort],
    ['default.legacyServerPort', listeners.legacyPort],
    ['management.server.port', listeners.managementPort],
  ]
  return ports.flatMap(([key, number]) => (number === undefined || number === 0 ? [] : [[key, number]]))
}

export function explainListeningFault({ code, address, port, key }: ListeningFault): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use. Stop what listens there, or set ${key}.`
    case 'EACCES':
      return `This user may not listen on port ${port}. Set ${key} to a number above 1023, or give the process CAP_NET_BIND_SERVICE.`
    case 'EADDRNOTAVAIL':
      return `This machine does not have the address ${address}. Correct server.address.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name ${address} has no address. Correct server.address.`
    case 'EMFILE':
    case 'ENFILE':
      return `This process has too many open files to listen on ${address}. Raise the limit (ulimit -n, or LimitNOFILE of systemd).`
    default:
      return `Nothing can listen on ${address}:${port} (${code}). Correct server.address or ${key}.`
  }
}
