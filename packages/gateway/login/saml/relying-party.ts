/** One agreement with one identity provider: names, addresses and keys of both sides. */
import type { KeyObject } from 'node:crypto'
import type { RequestState } from '../../http/request-state.ts'
import { type SamlAddresses, samlAddresses, samlPaths } from './addresses.ts'
import type { RequestSigner } from './authn-request.ts'
import type { IdentityProviderSource } from './identity-provider-source.ts'
import type { IdentityProvider } from './idp-metadata.ts'
import type { KeyPair } from './key-store.ts'
import type { SamlRegistration } from './settings.ts'
import type { RequestHash } from './signed-bytes.ts'
import type { ServiceProvider } from './sp-metadata.ts'

interface RelyingPartyOptions {
  settings: SamlRegistration
  source: IdentityProviderSource
  signing: readonly KeyPair[]
  decryption: readonly KeyPair[]
  hash: RequestHash
  /** `saml.loginProcessingUrl`. */
  processingPath: string
  contextPath: string
}

export class RelyingParty {
  readonly #options: RelyingPartyOptions
  /** Paths at which answers are taken, without context path. */
  readonly paths: readonly string[]

  constructor(options: RelyingPartyOptions) {
    this.#options = options
    this.paths = samlPaths(options.settings, options)
  }

  get id(): string {
    return this.#options.settings.id
  }

  get identityProvider(): IdentityProvider {
    return this.#options.source.current()
  }

  get nameIdFormat(): string | undefined {
    return this.#options.settings.nameIdFormat
  }

  get decryptionKeys(): KeyObject[] {
    return this.#options.decryption.map(({ key }) => key)
  }

  get signsRequests(): boolean {
    return (
      this.#options.settings.signRequests ??
      (this.identityProvider.wantsSignedRequests && this.#options.signing.length > 0)
    )
  }

  get signer(): RequestSigner | undefined {
    const [pair] = this.#options.signing
    return this.signsRequests && pair !== undefined
      ? { ...pair, hash: this.#options.hash }
      : undefined
  }

  addresses({ baseUrl }: Pick<RequestState, 'baseUrl'>): SamlAddresses {
    return samlAddresses(this.#options.settings, { ...this.#options, baseUrl })
  }

  describe(state: Pick<RequestState, 'baseUrl'>): ServiceProvider {
    return {
      ...this.addresses(state),
      signsRequests: this.signer !== undefined,
      signingCertificates: this.#options.signing.map(({ certificate }) => certificate),
      encryptionCertificates: this.#options.decryption.map(({ certificate }) => certificate),
      nameIdFormat: this.nameIdFormat,
    }
  }
}
