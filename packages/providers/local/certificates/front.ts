/** The front as certificates need it: which hosts want one, and where it goes. */

export interface CertificateHost {
  /** A-labels in lower case; the first label may be `*`. */
  readonly host: string
  /** Hosts of one service may share a certificate. */
  readonly service: string
}

export interface CertificateFront {
  /** Hosts that have no certificate of the operator's own. */
  hosts(): readonly CertificateHost[]
  /** Replaces the former certificate of this name. */
  serve(name: string, certificate: CertificateToServe): void
  withdraw(name: string): void
  setHttpChallenge(token: string, content: string): void
  setTlsChallenge(host: string, certificate: string, key: string): void
  /** @param name The token, or the host */
  clearChallenge(kind: 'http-01' | 'tls-alpn-01', name: string): void
  /** Whether requests and handshakes are answered with everything that was set before. */
  isTaken(): Promise<boolean>
}

export interface CertificateToServe {
  readonly hosts: readonly string[]
  /** PEM: the certificate, then its chain. */
  readonly chain: string
  /** PKCS #8, PEM. */
  readonly key: string
}
