/** One agreement with one identity provider: names, addresses and keys of both sides. */
import type { KeyObject } from 'node:crypto'
import type { RequestState } from '../../http/request-state.ts'
import type { RequestSigner } from './authn-request.ts'
import type { IdentityProviderSource } from './identity-provider-source.ts'
import type { IdentityProvider } from './idp-metadata.ts'
import type { KeyPair } from './key-store.ts'
import type { SamlRegistration } from './settings.ts'
import type { RequestHash } from './signed-bytes.ts'
import type { ServiceProvider } from './sp-metadata.ts'

/** Where Gate has ever taken answers; all of them always work. */
const consumerPaths = (id: string) => ['/saml/SSO', `/saml/${id}`, '/login/saml2/sso', `/login/saml2/sso/${id}`]
const takenPaths = ['/saml/metadata', '/saml2/metadata']

interface RegistrationOptions {
  settings: SamlRegistration
  source: IdentityProviderSource
  signing: readonly KeyPair[]
  decryption: readonly KeyPair[]
  hash: RequestHash
  /** `saml.loginProcessingUrl`. */
  processingPath: string
  contextPath: string
}

type Base = Pick<RequestState, 'baseUrl'>

export class Registration {
  readonly #options: RegistrationOptions

  constructor(options: RegistrationOptions) {
    this.#options = options
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
    return this.#options.settings.signRequests ?? (this.identityProvider.wantsSignedRequests && this.#options.signing.length > 0)
  }

  /** Undefined when requests are not signed. */
  get signer(): RequestSigner | undefined {
    const [pair] = this.#options.signing
    return this.signsRequests && pair !== undefined ? { ...pair, hash: this.#options.hash } : undefined
  }

  entityId(state: Base): string {
    return this.#fill(this.#options.settings.entityId, state)
  }

  /** The address that we announce. */
  consumerUrl(state: Base): string {
    return this.#fill(this.#options.settings.consumerUrl, state)
  }

  /** Paths at which answers are taken, without context path. */
  get paths(): string[] {
    const { settings, processingPath, contextPath } = this.#options
    const fixed = settings.consumerUrl.replace(/^\{baseUrl\}|^[a-z]+:\/\/[^/]*/i, '').replace(/^\{basePath\}/, '')
    const announced = this.#name(fixed).replace(/[?#].*$/s, '')
    const inner = contextPath !== '' && announced.startsWith(`${contextPath}/`) ? announced.slice(contextPath.length) : announced
    const paths = [...consumerPaths(this.id), this.#name(processingPath), inner]
    return [...new Set(paths)].filter((path) => /^\/[^{}*:]+$/.test(path) && !takenPaths.includes(path))
  }

  /** Every address under which an answer may have been sent to us. */
  consumerUrls(state: Base): ReadonlySet<string> {
    const announced = this.consumerUrl(state)
    const isFixed = /^https?:/i.test(this.#options.settings.consumerUrl)
    const base = isFixed ? new URL(announced).origin + this.#options.contextPath : state.baseUrl
    return new Set([announced, ...this.paths.map((path) => base + path)])
  }

  describe(state: Base): ServiceProvider {
    return {
      entityId: this.entityId(state),
      consumerUrl: this.consumerUrl(state),
      signsRequests: this.signer !== undefined,
      signingCertificates: this.#options.signing.map(({ certificate }) => certificate),
      encryptionCertificates: this.#options.decryption.map(({ certificate }) => certificate),
      nameIdFormat: this.nameIdFormat,
    }
  }

  #name(template: string): string {
    return template.replaceAll('{registrationId}', this.id).replaceAll('{action}', 'login')
  }

  /** The placeholders of Spring. */
  #fill(template: string, { baseUrl }: Base): string {
    const { protocol, hostname, port } = new URL(baseUrl)
    return this.#name(template)
      .replaceAll('{baseUrl}', baseUrl)
      .replaceAll('{baseScheme}', protocol.slice(0, -1))
      .replaceAll('{baseHost}', hostname)
      .replaceAll('{basePort}', port === '' ? '' : `:${port}`)
      .replaceAll('{basePath}', this.#options.contextPath)
  }
}
