/** Certificates of the fronts by the name that a client asks for; replaced while connections stand. */
import type { SecureContext, TLSSocket } from 'node:tls'
import { wildcardOf } from '@fairlead/base/names/host-name.ts'
import type { DesiredCertificate, DesiredFronts } from '@fairlead/base/net/agent-protocol.ts'
import {
  type CertificatePair,
  loadCertificate,
  watchCertificate,
} from '@fairlead/base/tls/listener-certificate.ts'
import type { AgentLog } from '../log.ts'

/** The protocol that an authority's TLS-ALPN-01 connection names. @see RFC 8737 */
const challengeProtocol = 'acme-tls/1'

type Wanted = Pick<DesiredFronts, 'certificates' | 'challenges'>

export class FrontCertificates {
  readonly #log: AgentLog
  readonly #checkMs: number
  /** By their files. */
  #served = new Map<string, ServedCertificate>()
  #byHost = new Map<string, ServedCertificate>()
  #challenges: Wanted['challenges'] = { http: {}, tls: {} }
  #challengeContexts = new Map<string, SecureContext>()

  /** @param checkMs How often files that may change are looked at */
  constructor(log: AgentLog, checkMs: number) {
    this.#log = log
    this.#checkMs = checkMs
  }

  /** The first certificate of a host is served. What is unchanged keeps what was loaded of it. */
  apply({ certificates, challenges }: Wanted): void {
    const before = this.#served
    this.#served = new Map()
    this.#byHost = new Map()
    for (const wanted of certificates) {
      const key = `${wanted.certificateFile} ${wanted.keyFile}`
      const served = before.get(key) ?? new ServedCertificate(wanted, this.#log, this.#checkMs)
      before.delete(key)
      this.#served.set(key, served)
      for (const host of wanted.hosts) if (!this.#byHost.has(host)) this.#byHost.set(host, served)
    }
    for (const gone of before.values()) gone.close()
    this.#challenges = challenges
    this.#challengeContexts = new Map()
  }

  /** Whether HTTPS works for a host; wildcards count. */
  has(host: string): boolean {
    return this.#find(host)?.context !== undefined
  }

  #find(host: string): ServedCertificate | undefined {
    return this.#byHost.get(host) ?? this.#byHost.get(wildcardOf(host))
  }

  /** Content of the HTTP-01 challenge with this token. */
  httpContent(token: string): string | undefined {
    return Object.hasOwn(this.#challenges.http, token) ? this.#challenges.http[token] : undefined
  }

  /**
   * For a TLS server: the certificate, and the protocol from those of the client. Which of the two Node asks for first differs between
   * versions of TLS. A name without a certificate ends the handshake.
   *
   * @param protocols Offered ones, the preferred one first
   */
  tlsOptions(protocols: readonly string[]) {
    const certificates = this
    return {
      SNICallback(
        this: ChallengedSocket,
        servername: string,
        use: (error: Error | null, context?: SecureContext) => void,
      ): void {
        const host = servername.toLowerCase()
        const challenge = certificates.#challengeContext(host)
        // With TLS 1.2 the protocol is chosen later.
        const isOpen = this.isChallenge ?? this.getProtocol() !== 'TLSv1.3'
        const own = this.isChallenge ? undefined : certificates.#find(host)?.context
        const context = own ?? (isOpen ? challenge : undefined)
        if (context === undefined) use(new Error(`no certificate for ${host}`))
        else use(null, context)
      },
      ALPNCallback(
        this: ChallengedSocket,
        { servername, protocols: offered }: { servername: string; protocols: string[] },
      ): string | undefined {
        const host = (servername || '').toLowerCase()
        if (!offered.includes(challengeProtocol))
          // No client but an authority gets the certificate of a challenge.
          return (
            certificates.#find(host)?.context && protocols.find((each) => offered.includes(each))
          )
        const context = certificates.#challengeContext(host)
        if (context === undefined) return undefined
        this.isChallenge = true
        this.setKeyCert(context)
        return challengeProtocol
      },
    }
  }

  #challengeContext(host: string): SecureContext | undefined {
    if (!Object.hasOwn(this.#challenges.tls, host)) return undefined
    return this.#challengeContexts.getOrInsertComputed(host, () => {
      const { certificate: cert, key } = this.#challenges.tls[host] as {
        certificate: string
        key: string
      }
      return process.getBuiltinModule('node:tls').createSecureContext({ cert, key })
    })
  }

  close(): void {
    for (const served of this.#served.values()) served.close()
  }
}

interface ChallengedSocket extends TLSSocket {
  /** It belongs to an authority that checks a challenge. */
  isChallenge?: true
}

/** Loaded at its first use: a start with hundreds of certificates serves at once. */
class ServedCertificate {
  readonly #files: DesiredCertificate
  readonly #log: AgentLog
  readonly #retryMs: number
  readonly #forget: () => void
  #context: SecureContext | undefined
  /** When files that could not be used are read again, in milliseconds of `performance.now()`. */
  #nextLoadMs = 0

  constructor(files: DesiredCertificate, log: AgentLog, checkMs: number) {
    this.#files = files
    this.#log = log
    this.#retryMs = checkMs
    this.#forget = files.isWatched
      ? watchCertificate(files, checkMs, (result) => this.#use(result))
      : () => {}
  }

  /** Undefined where the files cannot be used. */
  get context(): SecureContext | undefined {
    if (this.#context !== undefined || performance.now() < this.#nextLoadMs) return this.#context
    this.#nextLoadMs = performance.now() + this.#retryMs
    try {
      this.#use(loadCertificate(this.#files))
    } catch (error) {
      this.#use(error instanceof Error ? error : new Error(String(error)))
    }
    return this.#context
  }

  #use(result: CertificatePair | Error): void {
    const { hosts } = this.#files
    if (result instanceof Error)
      return void this.#log.error({ hosts, err: result }, 'a certificate cannot be used')
    this.#context = process.getBuiltinModule('node:tls').createSecureContext(result)
    this.#log.info({ hosts }, 'a certificate is used')
  }

  close(): void {
    this.#forget()
  }
}
