/** Where the embedded back ends are: in this process, or in one of `fairlead backends` that several gateways share. */
import {
  httpAddress,
  optionalText,
  port,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
} from '../settings/setting.ts'
import { type ServiceTls, toServiceTls } from './service-tls.ts'

/** The header of calls to `fairlead backends` that shows the shared key. */
export const backendKeyHeader = 'x-fairlead-key'

/** A key that can be guessed would open every account. */
const minKeyLength = 24

export const backendPlaceKeys = settings({
  baseUrl: setting('services.embedded.baseUrl', httpAddress.optional()).describe(
    'Address of `fairlead backends`: this gateway uses the embedded back ends there, and starts none of its own.',
  ),
  baseUrls: setting('services.embedded.baseUrls', httpAddress.array().default([])).describe(
    'Several addresses, instead of `baseUrl`: of the process that serves, and of those that stand by.',
  ),
  key: setting('backends.key', optionalText.meta({ env: 'FAIRLEAD_BACKENDS_KEY' })).describe(
    `Key that \`fairlead backends\` and its gateways share, of at least ${minKeyLength} characters, such as from ` +
      '`openssl rand -base64 32`. Best set in the environment.',
  ),
  address: setting('backends.address', optionalText).describe(
    'Address that `fairlead backends` listens on. Default: this machine only, `127.0.0.1`.',
  ),
  port: setting('backends.port', port.default(7010)).describe('Port of `fairlead backends`.'),
  tls: {
    keyStore: setting('backends.tls.keyStore', optionalText).describe(
      'PKCS #12, JKS or PEM file with certificate and private key of `fairlead backends`, which then speaks TLS alone.',
    ),
    keyStorePassword: setting('backends.tls.keyStorePassword', optionalText).describe(
      'Password of `keyStore`.',
    ),
    trustStore: setting('backends.tls.trustStore', optionalText).describe(
      'File with the authorities of client certificates. With it every gateway has to show one, `okHttpClient.keyStore`.',
    ),
    trustStorePassword: setting('backends.tls.trustStorePassword', optionalText).describe(
      'Password of `trustStore`.',
    ),
  },
})

/** The back ends of another process. */
export interface RemotePlace {
  /** Without trailing slash; calls go to the one that answers. */
  readonly baseUrls: readonly string[]
  readonly key?: string
}

/** Where `fairlead backends` listens, and whom it serves. */
export interface BackendListener {
  readonly address: string
  readonly port: number
  /** What every call has to show; undefined where client certificates are demanded. */
  readonly key?: string
  /** Undefined: plain HTTP. With authorities, every client has to show a certificate of theirs. */
  readonly tls?: ServiceTls
}

export function toBackendPlace(
  values: SettingsOf<typeof backendPlaceKeys>,
  report: SettingsReport,
) {
  const {
    baseUrl,
    baseUrls: several,
    key,
    address = '127.0.0.1',
    port: ownPort,
    tls: files,
  } = values
  if (baseUrl !== undefined && several.length > 0) {
    report.problem('services.embedded.baseUrls', 'set either this or services.embedded.baseUrl')
  }
  if (key !== undefined && key.length < minKeyLength) {
    report.problem(
      'backends.key',
      `has to have at least ${minKeyLength} characters; openssl rand -base64 32 prints a good one`,
    )
  }
  const baseUrls = baseUrl === undefined ? several : [baseUrl]
  const tls = toServiceTls(files, report, 'backends.tls')
  if (tls !== undefined && tls.key === undefined) {
    report.problem(
      'backends.tls.trustStore',
      'client certificates need TLS: set backends.tls.keyStore, too',
    )
  }
  return {
    remote: baseUrls.length > 0 ? ({ baseUrls, key } satisfies RemotePlace) : undefined,
    listener: { address, port: ownPort, key, tls } satisfies BackendListener,
  }
}
