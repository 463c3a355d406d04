/** The back-end services that the gateway knows, and which of them have an embedded stand-in. */

export const serviceNames = [
  'clouddriver',
  'echo',
  'fiat',
  'flex',
  'front50',
  'igor',
  'kayenta',
  'keel',
  'mahe',
  'mine',
  'orca',
  'rosco',
  'swabbie',
] as const

export type ServiceName = (typeof serviceNames)[number]

/** Services whose contract is implemented in this process, in `src/backends/`. */
const embeddableServices = ['clouddriver', 'echo', 'fiat', 'front50', 'igor', 'orca', 'rosco'] as const satisfies ServiceName[]

export type EmbeddableService = (typeof embeddableServices)[number]

export function isEmbeddable(service: ServiceName): service is EmbeddableService {
  return (embeddableServices as readonly string[]).includes(service)
}

/** Where a service is: an external base URL, or the embedded stand-in behind the socket of the worker thread. */
export type ServiceAddress =
  | {
      kind: 'external'
      baseUrl: string
      /** All addresses, where there are several; calls go to those that answer. */
      baseUrls?: readonly string[] | undefined
    }
  | { kind: 'embedded'; socketPath: string; service: EmbeddableService }
