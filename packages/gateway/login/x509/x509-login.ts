/** Login by client certificate, from the TLS handshake or a trusted proxy, on each request. */
import type { IncomingMessage } from 'node:http'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { commonNameOf, formatJavaName } from '@fairlead/base/names/distinguished-name.ts'
import { type Certificate, readCertificate } from '@fairlead/base/tls/certificate.ts'
import {
  type ConnectionCertificate,
  clientCertificateOf,
} from '@fairlead/base/tls/client-certificate.ts'
import { DerError, readDer, readText } from '@fairlead/base/tls/der.ts'
import { certificateLabel, pemBlocks } from '@fairlead/base/tls/pem.ts'
import { findListObjection, findRevocation } from '@fairlead/base/tls/revocation.ts'
import type { LoginReport } from '@fairlead/model/rights/permissions.ts'
import type { FastifyRequest } from 'fastify'
import { isTrustedPeer } from '../../http/origin.ts'
import type { ListenerKind, User } from '../../http/request-state.ts'
import type { Permissions } from '../../permissions/fiat-permissions.ts'
import type { EntryPoint, LoginMethod, LoginOutcome } from '../login-method.ts'
import type { MethodContext } from '../method-type.ts'
import { joinNames, type LoginCredentials, type Trace } from '../trace.ts'
import { createUser, hasRequiredRole } from '../user.ts'
import { readProxyCertificate } from './proxy-certificate.ts'
import { toPorts, type X509Settings } from './settings.ts'
import { type CertificateTrust, findObjection } from './verify-certificate.ts'

interface X509LoginOptions
  extends Pick<
    MethodContext,
    'isAlone' | 'origin' | 'permissions' | 'prepareUser' | 'objectionTo' | 'log' | 'now'
  > {
  settings: X509Settings
  /** The authorities and revocations of the moment; they change with their files. */
  trust: CertificateTrust
}

export class X509Login implements LoginMethod {
  readonly name = 'x509'
  readonly #options: X509LoginOptions
  readonly #ports: ReturnType<typeof toPorts>
  readonly #reports: LoginReports

  constructor(options: X509LoginOptions) {
    this.#options = options
    this.#ports = toPorts(options.settings, options.isAlone)
    this.#reports = new LoginReports(options.permissions, options.settings, options.now)
  }

  guards(listener: ListenerKind): boolean {
    return this.#ports.guards[listener]
  }

  /** Reported with each request already. */
  reportOf(): LoginReport | undefined {
    return undefined
  }

  /** @throws {GatewayError} LOGIN_UNAVAILABLE when the permission service is unavailable */
  async authenticate(request: FastifyRequest): Promise<LoginOutcome> {
    const found = this.#find(request.raw, request.state.listener)
    if (found.kind === 'none') return { kind: 'not-mine' }
    const outcome = found.kind === 'verified' ? await this.#admit(found.certificate) : found.reason
    if (typeof outcome !== 'string') return { kind: 'user', user: outcome }
    // Other login methods remain possible: the certificate may not be meant for this gateway.
    this.#options.log.info(
      { address: request.state.clientAddress, reason: outcome },
      'a client certificate was refused',
    )
    request.state.auditNote = { kind: 'refused', method: this.name, reason: outcome }
    return { kind: 'not-mine', objection: `The client certificate is not accepted: ${outcome}.` }
  }

  async explain(credentials: LoginCredentials, trace: Trace): Promise<LoginOutcome> {
    if (credentials.kind !== 'certificate') return { kind: 'not-mine' }
    const { trust, now } = this.#options
    try {
      const [certificate, ...between] = readCertificates(credentials.pem)
      if (certificate === undefined)
        return { kind: 'refused', reason: 'there is no certificate in PEM' }
      trace(
        'note',
        `owner ${formatJavaName(certificate.subject).text}, issuer ${formatJavaName(certificate.issuer).text}`,
      )
      const { authorities, revocations } = trust
      const objection = findObjection(
        certificate,
        { authorities: [...authorities, ...trusted(between, authorities)], revocations },
        now(),
      )
      if (objection !== undefined) return { kind: 'refused', reason: objection }
      trace('yes', 'a trusted authority has issued it, it is valid, and it is not revoked')
      const outcome = await this.#admit(certificate, trace)
      return typeof outcome === 'string'
        ? { kind: 'refused', reason: outcome }
        : { kind: 'user', user: outcome }
    } catch (error) {
      if (!(error instanceof DerError)) throw error
      return { kind: 'refused', reason: error.message }
    }
  }

  entryPoint(): EntryPoint {
    return {
      kind: 'refusal',
      error: new GatewayError(
        'CERTIFICATE_REQUIRED',
        'A client certificate that this gateway accepts is needed.',
      ),
    }
  }

  #find(raw: IncomingMessage, listener: ListenerKind): ConnectionCertificate {
    const { settings, origin, trust, now } = this.#options
    const onConnection = listener === 'api' || (listener === 'main' && this.#ports.mainConnection)
    const connection = onConnection ? clientCertificateOf(raw) : { kind: 'none' as const }
    if (listener === 'api' || settings.header === undefined || !isTrustedPeer(raw, origin))
      return connection
    return readProxyCertificate(raw, settings.header, trust, now())
  }

  async #admit(certificate: Certificate, trace?: Trace): Promise<User | string> {
    const { settings, trust, permissions, prepareUser, now } = this.#options
    // A connection may last longer than the certificate that opened it.
    if (now() < certificate.notBeforeMs || now() > certificate.notAfterMs)
      return 'the certificate is not valid at this time'
    const revoked =
      findListObjection(certificate, trust.revocations, now()) ??
      findRevocation(trust.revocations, certificate)
    if (revoked !== undefined) return revoked
    const identity = certificateIdentity(certificate, settings.principalPattern)
    if (identity === undefined) return 'the certificate names no user'
    const objection = this.#options.objectionTo(identity, 'unknown')
    if (objection !== undefined) return `the user name in the certificate ${objection}`
    trace?.(
      'note',
      `user name and e-mail address ${identity}, from ${sourceOf(certificate, settings.principalPattern)}`,
    )
    const user = this.#toUser(identity, certificate)
    if (typeof user === 'string') return user
    const brought = user.roles.filter((role) => role !== identity.toLowerCase())
    trace?.('note', `the role ${identity.toLowerCase()}, which is the user name`)
    if (settings.roleOid !== undefined)
      trace?.('note', `roles ${joinNames(brought)}, from the extension ${settings.roleOid}`)
    await this.#reports.report(user)
    const view = await permissions.viewOf(user)
    const known = view?.roles.map(({ name }) => name.toLowerCase()) ?? []
    const roles = [...new Set([...user.roles, ...known])]
    trace?.('note', `roles ${joinNames(known)}, from the permission service`)
    const isAdmitted = hasRequiredRole(settings.requiredRoles, roles, 'x509.required-roles', trace)
    if (!isAdmitted) return `${identity} has no required role`
    return prepareUser({ ...user, roles }, undefined)
  }

  #toUser(identity: string, certificate: Certificate): User | string {
    try {
      const roles = [
        identity.toLowerCase(),
        ...rolesOf(certificate, this.#options.settings.roleOid),
      ]
      return createUser(this.name, identity, { email: identity, roles: [...new Set(roles)] })
    } catch (error) {
      if (!(error instanceof DerError)) throw error
      return error.message
    }
  }
}

/** @throws {DerError} */
function readCertificates(pem: string): Certificate[] {
  return pemBlocks(pem, certificateLabel).map((block) => readCertificate(block))
}

/** Certificates in between that lead to an authority; TLS follows them in the same way. */
function trusted(
  between: readonly Certificate[],
  authorities: readonly Certificate[],
): Certificate[] {
  const found: Certificate[] = []
  for (const certificate of between.toReversed()) {
    const isIssued = [...authorities, ...found].some(
      ({ x509 }) => certificate.x509.checkIssued(x509) && certificate.x509.verify(x509.publicKey),
    )
    if (isIssued && certificate.x509.ca) found.push(certificate)
  }
  return found
}

function sourceOf({ emails }: Certificate, pattern: RegExp | undefined): string {
  if (emails.length > 0) return 'the first e-mail address among its alternative names'
  return pattern === undefined
    ? 'the common name'
    : 'what x509.subject-principal-regex finds in the owner'
}

const attempts = 5
const maxEntries = 10_000

class LoginReports {
  readonly #permissions: Permissions
  readonly #settings: Pick<X509Settings, 'roleOid' | 'debounceMs'>
  readonly #now: () => number
  /** Until when a user need not be reported again, by name and roles. */
  readonly #reported = new BoundedMap<string, number>(maxEntries)
  readonly #running = new Map<string, Promise<void>>()

  constructor(
    permissions: Permissions,
    settings: Pick<X509Settings, 'roleOid' | 'debounceMs'>,
    now: () => number,
  ) {
    this.#permissions = permissions
    this.#settings = settings
    this.#now = now
  }

  /** @throws {GatewayError} LOGIN_UNAVAILABLE */
  async report(user: User): Promise<void> {
    const { debounceMs } = this.#settings
    if (!this.#permissions.enabled) return
    if (debounceMs === undefined) return this.#call(user)
    const key = JSON.stringify([user.username, user.roles])
    const recently = (this.#reported.get(key) ?? Number.NEGATIVE_INFINITY) > this.#now()
    // Users that the permission service has forgotten meanwhile are reported at once.
    if (recently && (await this.#permissions.lookUp(user)).kind === 'view') return
    await (this.#running.get(key) ?? this.#start(key, user, debounceMs))
  }

  /** Requests that come in together share one report. */
  #start(key: string, user: User, debounceMs: number): Promise<void> {
    const running = this.#call(user)
      .then(() => void this.#reported.set(key, this.#now() + debounceMs))
      .finally(() => this.#running.delete(key))
    this.#running.set(key, running)
    return running
  }

  /** Roles are reported when the certificate can bring any; else only that the user was here. */
  #call(user: User): Promise<void> {
    return this.#settings.roleOid === undefined
      ? this.#permissions.reportLogin({ ...user, roles: [] }, { call: 'roles-if-any', attempts })
      : this.#permissions.reportLogin(user, { call: 'roles', attempts })
  }
}

const maxSubjectLength = 4096
const controlCharacter = /\p{Cc}/u

/**
 * The e-mail address of the certificate; else what the pattern finds in the name of the owner, where one is configured,
 * or the common name. Undefined when there is nothing that could name a user: a pattern that finds nothing rejects the certificate.
 *
 * @param pattern Searched in the name as Java writes it; its first group is the identity
 * @see docs/contracts/authentication.md#client-certificates
 */
function certificateIdentity(
  certificate: Certificate,
  pattern: RegExp | undefined,
): string | undefined {
  return (
    certificate.emails[0] ??
    (pattern === undefined
      ? commonNameOf(certificate.subject)
      : findByPattern(certificate, pattern))
  )
}

/**
 * The search does not see structure inside a value: an organisation named `x, CN=admin` is not taken for the name `admin`.
 * What was found is then read from the name as it is.
 */
function findByPattern({ subject }: Certificate, pattern: RegExp): string | undefined {
  const { text, masked } = formatJavaName(subject)
  if (text.length > maxSubjectLength) return undefined
  const range = new RegExp(pattern.source, `${pattern.flags}d`).exec(masked)?.indices?.[1]
  return range && text.slice(range[0], range[1])
}

/** The roles of an extension, one in each line. @throws {DerError} when the extension holds no text */
function rolesOf({ extensions }: Certificate, roleOid: string | undefined): string[] {
  const value = roleOid === undefined ? undefined : extensions.get(roleOid)
  if (value === undefined) return []
  const text = readText(readDer(value))
  if (text === undefined) throw new DerError('the extension with the roles holds no text')
  return text
    .split(/\r?\n/)
    .map((role) => role.trim().toLowerCase())
    .filter((role) => role !== '' && !controlCharacter.test(role))
}
