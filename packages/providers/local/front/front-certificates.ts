/** Certificates and ACME challenges that the fronts of this machine serve: handed to the agent with the desired state. */
import { hash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { frontFolderName } from '@fairlead/base/names/agent-files.ts'
import { writePrivateFile } from '@fairlead/base/storage/private-files.ts'
import { challengeKey, type Desired } from '../desired.ts'
import type { Reconciler } from '../reconciler.ts'
import { filesOf } from './desired-certificates.ts'

interface ServedCertificate {
  /** Lower-case A-labels; `*.` may be the first one. */
  readonly hosts: readonly string[]
  /** PEM: the certificate, then its chain. */
  readonly chain: string
  /** PEM. */
  readonly key: string
}

interface FrontCertificatesOptions {
  readonly dataDir: string
  readonly desired: Desired
  readonly reconciler: Reconciler
}

/** The agent may read the files of the state before until it has the next one. */
const takeMs = 10_000

/**
 * Where ACME puts what it has: `serve` the certificates, set the challenges, and wait with `isTaken` until the fronts answer them. All of
 * it lasts over restarts. Own certificates of the settings take precedence.
 */
export class FrontCertificates {
  readonly #options: FrontCertificatesOptions
  readonly #folder: string

  constructor(options: FrontCertificatesOptions) {
    this.#options = options
    this.#folder = join(options.dataDir, frontFolderName)
  }

  /**
   * In place of the one before of this name; handshakes that run end with the one that they began with.
   *
   * @throws as the file system and the store do
   */
  serve(name: string, { hosts, chain, key }: ServedCertificate): void {
    const { desired, reconciler } = this.#options
    const digest = hash('sha256', `${chain}\n${key}`)
    const before = desired.get('certificates', name)
    const { certificateFile, keyFile } = filesOf(this.#folder, digest)
    if (!existsSync(certificateFile) || !existsSync(keyFile)) {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      writePrivateFile(keyFile, key)
      writePrivateFile(certificateFile, chain)
    }
    if (before?.digest === digest && before.hosts.join() === hosts.join()) return
    reconciler.change(() => desired.put('certificates', { name, hosts, digest }))
    void this.#removeUnused()
  }

  withdraw(name: string): void {
    const { desired, reconciler } = this.#options
    const certificate = desired.get('certificates', name)
    if (certificate === undefined) return
    reconciler.change(() => desired.remove('certificates', certificate))
    void this.#removeUnused()
  }

  /** HTTP-01: answers `/.well-known/acme-challenge/TOKEN` on port 80 of all fronts, whatever the host. */
  setHttpChallenge(token: string, content: string): void {
    const { desired, reconciler } = this.#options
    reconciler.change(() => desired.put('challenges', { kind: 'http-01', name: token, content }))
  }

  /** TLS-ALPN-01: the certificate of the challenge, and its key, in PEM. */
  setTlsChallenge(host: string, certificate: string, key: string): void {
    const { desired, reconciler } = this.#options
    reconciler.change(() =>
      desired.put('challenges', { kind: 'tls-alpn-01', name: host, certificate, key }),
    )
  }

  /** @param name The token, or the host */
  clearChallenge(kind: 'http-01' | 'tls-alpn-01', name: string): void {
    const { desired, reconciler } = this.#options
    const challenge = desired.get('challenges', challengeKey(kind, name))
    if (challenge !== undefined) reconciler.change(() => desired.remove('challenges', challenge))
  }

  /** Whether the agent serves everything that was changed before, within `takeMs`. */
  isTaken(): Promise<boolean> {
    return this.#options.reconciler.reaches(() => true, takeMs)
  }

  async #removeUnused(): Promise<void> {
    const { desired } = this.#options
    if (!(await this.isTaken()) || !existsSync(this.#folder)) return
    const used = new Set([...desired.all('certificates')].map(({ digest }) => digest))
    for (const name of readdirSync(this.#folder))
      if (!used.has(name.split('.', 1)[0] ?? '')) rmSync(join(this.#folder, name), { force: true })
  }
}
