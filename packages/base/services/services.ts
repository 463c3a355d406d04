/** The back-end services that the gateway knows, and which of them have an embedded stand-in. */
import type { RemotePlace } from './backend-place.ts'

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

/** Services whose contract Fairlead implements, in `packages/`, as people read of them: only operators of Spinnaker know their names. */
export const ownNames = {
  clouddriver: "Fairlead's infrastructure service",
  echo: "Fairlead's event service",
  fiat: "Fairlead's permission service",
  front50: "Fairlead's definition store",
  igor: "Fairlead's build service",
  kayenta: "Fairlead's canary service",
  orca: "Fairlead's engine",
  rosco: "Fairlead's bakery",
} as const satisfies Partial<Record<ServiceName, string>>

export type EmbeddableService = keyof typeof ownNames

export function isEmbeddable(service: ServiceName): service is EmbeddableService {
  return Object.hasOwn(ownNames, service)
}

/** Where a service is: an external base URL, or the embedded stand-in, behind the socket of the worker thread or in another process. */
export type ServiceAddress =
  | {
      kind: 'external'
      baseUrl: string
      /** All addresses, where there are several; calls go to those that answer. */
      baseUrls?: readonly string[]
    }
  | { kind: 'embedded'; service: EmbeddableService; socketPath: string; remote?: undefined }
  | { kind: 'embedded'; service: EmbeddableService; remote: RemotePlace; socketPath?: undefined }
