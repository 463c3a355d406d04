/** Login by SAML 2.0: sends browsers to the identity provider and takes its answers. */
import { randomBytes } from 'node:crypto'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { Records } from '@fairlead/base/storage/records.ts'
import type { LoginReport } from '@fairlead/model/rights/permissions.ts'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../http/caller.ts'
import type { Page, Site } from '../../http/page.ts'
import { readForm } from '../../http/read-form.ts'
import type { RequestState, User } from '../../http/request-state.ts'
import { queryOf } from '../../http/request-target.ts'
import { askStore } from '../../sessions/sessions.ts'
import type {
  EntryPoint,
  LoginEnding,
  LoginMethod,
  LoginOutcome,
  NameCase,
} from '../login-method.ts'
import { createChoicePage } from '../login-page.ts'
import type { OpenPath } from '../open-paths.ts'
import type { LoginCredentials, Trace } from '../trace.ts'
import { formatAuthnRequest, toPostFields, toRedirectUrl } from './authn-request.ts'
import { checkResponse } from './check-response.ts'
import { assertionToUser, type RoleNotes } from './identity.ts'
import { nameCaseOfIdentityProvider } from './idp-metadata.ts'
import { createPostPage, refusals } from './pages.ts'
import { refuseUnless, SamlRefused } from './refusal.ts'
import type { RelyingParty } from './relying-party.ts'
import {
  type AcceptedAssertion,
  claimedIssuer,
  decodeResponse,
  maxResponseLength,
  type ReceivedResponse,
} from './response.ts'
import type { SamlSettings } from './settings.ts'
import { formatSpMetadata, metadataType } from './sp-metadata.ts'
import { toAssertionKey, useAssertion } from './used-assertions.ts'

interface SamlLoginOptions {
  settings: SamlSettings
  registrations: readonly RelyingParty[]
  usedAssertions: Records
  site: Site
  log: FastifyBaseLogger
  now: () => number
}

/** A refusal with a reason that the browser may see. */
class UnknownRequest extends SamlRefused {}

const maxPendingMs = 60 * 60_000
/** Form encoding triples a character at worst; base64 has few that need it. */
const maxFormBytes = maxResponseLength + maxResponseLength / 4

const startPath = '/saml2/authenticate'
const metadataPaths = ['/saml/metadata', '/saml2/metadata']

export class SamlLogin implements LoginMethod {
  readonly name = 'saml'
  readonly interactive = true
  readonly routes: readonly { method: string; path: string }[]
  readonly openPaths: readonly OpenPath[]
  readonly #options: SamlLoginOptions
  readonly #consumerPaths: readonly string[]
  readonly #roleNotes: RoleNotes

  constructor(options: SamlLoginOptions) {
    this.#options = options
    this.#roleNotes = createRoleNotes(options.log)
    this.#consumerPaths = [...new Set(options.registrations.flatMap(({ paths }) => paths))]
    const read = ['/login', startPath, ...this.#idPaths(startPath), ...this.#metadataPaths()]
    this.routes = [
      ...read.map((path) => ({ method: 'GET', path })),
      ...this.#consumerPaths.flatMap((path) => [
        { method: 'GET', path },
        { method: 'POST', path },
      ]),
    ]
    this.openPaths = [
      { path: '/login', methods: ['GET'], identity: 'if-known' },
      ...read.slice(1).map((path): OpenPath => ({ path, methods: ['GET'], identity: 'none' })),
      ...this.#consumerPaths.map(
        (path): OpenPath => ({ path, methods: ['GET', 'POST'], identity: 'none' }),
      ),
    ]
  }

  reportOf(): LoginReport {
    return { call: 'roles', attempts: 1 }
  }

  async authenticate(): Promise<LoginOutcome> {
    return { kind: 'not-mine' }
  }

  /** The request that the answer belongs to and whether the assertion is new are not looked at: nothing is used up. */
  async explain(credentials: LoginCredentials, trace: Trace): Promise<LoginOutcome> {
    if (credentials.kind !== 'saml-response') return { kind: 'not-mine' }
    const { text, baseUrl } = credentials
    try {
      const received = decodeResponse(
        text.trimStart().startsWith('<') ? Buffer.from(text).toString('base64') : text,
      )
      const issuer = claimedIssuer(received)
      const { registrations, settings } = this.#options
      const registration =
        registrations.find((one) => one.identityProvider.entityId === issuer) ?? this.#first
      trace(
        'note',
        `checked by the registration ${registration.id}, for ${baseUrl}; its issuer is ${issuer || 'missing'}`,
      )
      const assertion = await this.#check(registration, received, { baseUrl }, trace)
      const user = assertionToUser(
        assertion,
        settings.mapping,
        {
          skipped: (value) => trace('no', `a role cannot be read: ${value.slice(0, 200)}`),
          split: (value) =>
            trace(
              'note',
              `one of several values holds saml.userAttributeMapping.rolesDelimiter: ${value.slice(0, 200)}`,
            ),
        },
        trace,
      )
      if (!assertion.isSolicited) {
        trace(
          settings.idpInitiated.enabled ? 'yes' : 'no',
          'the login started at the identity provider (saml.idpInitiated.enabled)',
        )
        refuseUnless(
          settings.idpInitiated.enabled,
          'logins that start at the identity provider are switched off',
        )
      }
      trace(
        'note',
        'in a login, it also has to answer a request of the same browser, and each assertion counts once',
      )
      return {
        kind: 'user',
        user,
        nameCase: nameCaseOfIdentityProvider(registration.identityProvider.entityId),
      }
    } catch (error) {
      if (!(error instanceof SamlRefused)) throw error
      return { kind: 'refused', reason: error.message }
    }
  }

  entryPoint({ baseUrl }: RequestState): EntryPoint {
    return { kind: 'redirect', location: `${baseUrl}/login` }
  }

  mount(server: FastifyInstance, ending: LoginEnding): void {
    server.get('/login', (request, reply) => this.#showStart(request, reply, ending))
    server.get(startPath, (request, reply) => {
      const id = queryOf(request.url).get('registrationId')
      return id === null
        ? this.#showStart(request, reply, ending)
        : this.#start(this.#find(id), request, reply, ending)
    })
    for (const registration of this.#options.registrations) {
      server.get(`${startPath}/${registration.id}`, (request, reply) =>
        this.#start(registration, request, reply, ending),
      )
      server.get(`/saml2/service-provider-metadata/${registration.id}`, (request, reply) =>
        showMetadata(registration, request, reply),
      )
    }
    for (const path of metadataPaths) {
      server.get(path, (request, reply) => {
        const id = queryOf(request.url).get('registrationId')
        return showMetadata(id === null ? this.#first : this.#find(id), request, reply)
      })
    }
    for (const path of this.#consumerPaths) {
      server.post(path, (request, reply) => this.#consume(request, reply, ending))
      server.get(path, (request) =>
        this.#refuse(request, new SamlRefused('an answer comes by POST')),
      )
    }
  }

  get #first(): RelyingParty {
    return this.#options.registrations[0] as RelyingParty
  }

  /** @throws {GatewayError} NOT_FOUND */
  #find(id: string): RelyingParty {
    const registration = this.#options.registrations.find((one) => one.id === id)
    if (registration === undefined)
      throw new GatewayError('NOT_FOUND', 'There is no such SAML registration.')
    return registration
  }

  #idPaths(path: string): string[] {
    return this.#options.registrations.map(({ id }) => `${path}/${id}`)
  }

  #metadataPaths(): string[] {
    return [...metadataPaths, ...this.#idPaths('/saml2/service-provider-metadata')]
  }

  async #showStart(
    request: FastifyRequest,
    reply: FastifyReply,
    ending: LoginEnding,
  ): Promise<FastifyReply> {
    const { registrations, site } = this.#options
    if (request.state.user !== undefined) return reply.redirect(`${request.state.baseUrl}/`, 302)
    if (registrations.length === 1 && callerOf(request.headers) !== 'web-ui')
      return this.#start(this.#first, request, reply, ending)
    const choices = registrations.map(({ id }) => ({ label: id, path: `${startPath}/${id}` }))
    return sendPage(reply, createChoicePage(site, choices))
  }

  /** @throws {GatewayError} SESSIONS_UNAVAILABLE */
  async #start(
    registration: RelyingParty,
    request: FastifyRequest,
    reply: FastifyReply,
    ending: LoginEnding,
  ): Promise<FastifyReply> {
    const nowMs = this.#options.now()
    const id = `_${randomBytes(20).toString('hex')}`
    const relayState = randomBytes(16).toString('base64url')
    const { signOn } = registration.identityProvider
    const destination = signOn.redirect ?? (signOn.post as string)
    const xml = formatAuthnRequest({
      id,
      ...registration.addresses(request.state),
      destination,
      nameIdFormat: registration.nameIdFormat,
      nowMs,
    })
    await ending.remember(request, id, {
      method: this.name,
      startedAtMs: nowMs,
      values: { registration: registration.id },
    })
    if (signOn.redirect !== undefined)
      return reply.redirect(toRedirectUrl(destination, xml, relayState, registration.signer), 302)
    return sendPage(
      reply,
      createPostPage(
        this.#options.site,
        destination,
        toPostFields(xml, relayState, registration.signer),
      ),
    )
  }

  /** @throws {GatewayError} LOGIN_UNAVAILABLE, SESSIONS_UNAVAILABLE, BODY_TOO_LARGE, BAD_ARGUMENT */
  async #consume(
    request: FastifyRequest,
    reply: FastifyReply,
    ending: LoginEnding,
  ): Promise<FastifyReply> {
    const form = await readForm(request, maxFormBytes, reply.raw)
    let user: User
    let assertion: AcceptedAssertion
    let nameCase: NameCase
    try {
      const received = decodeResponse(form?.get('SAMLResponse') ?? '')
      const registration = this.#registrationFor(request.state.path, received)
      assertion = await this.#check(registration, received, request.state)
      user = assertionToUser(assertion, this.#options.settings.mapping, this.#roleNotes)
      nameCase = nameCaseOfIdentityProvider(registration.identityProvider.entityId)
      await this.#checkFirstUse(registration, assertion, request, ending)
    } catch (error) {
      if (error instanceof GatewayError) throw error
      return this.#refuse(request, error)
    }
    const path = this.#unsolicitedTarget(assertion, form?.get('RelayState') ?? null)
    await ending.complete(request, reply, { user, nameCase, path })
    return reply
  }

  /** Several identity providers may share a path; then the one that the answer claims to come from is asked for its keys. */
  #registrationFor(path: string, received: ReceivedResponse): RelyingParty {
    const { registrations } = this.#options
    const atPath = registrations.filter((one) => one.paths.includes(path))
    const issuer = claimedIssuer(received)
    return (
      atPath.find((one) => one.identityProvider.entityId === issuer) ?? (atPath[0] as RelyingParty)
    )
  }

  #check(
    registration: RelyingParty,
    received: ReceivedResponse,
    state: Pick<RequestState, 'baseUrl'>,
    trace?: Trace,
  ): Promise<AcceptedAssertion> {
    const { settings, now } = this.#options
    const { entityId, keys } = registration.identityProvider
    const expected = {
      identityProvider: { entityId, keys },
      ...registration.addresses(state),
      decryptionKeys: registration.decryptionKeys,
      sha1: settings.acceptSha1,
      maxAuthenticationAgeMs: settings.maxAuthenticationAgeMs,
      nowMs: now(),
    }
    return checkResponse(received, expected, trace)
  }

  /** Checks that the request was this browser's and is answered once, and the assertion used once. */
  async #checkFirstUse(
    registration: RelyingParty,
    { id, inResponseTo, isSolicited, usableUntilMs }: AcceptedAssertion,
    request: FastifyRequest,
    ending: LoginEnding,
  ): Promise<void> {
    const { settings, usedAssertions, now } = this.#options
    refuseUnless(
      isSolicited || settings.idpInitiated.enabled,
      'the login started at the identity provider, as far as its signature says, and saml.idpInitiated.enabled is false',
    )
    if (inResponseTo !== undefined) {
      const pending = await ending.take(request, inResponseTo)
      if (
        pending === undefined ||
        pending.method !== this.name ||
        pending.startedAtMs + maxPendingMs < now()
      ) {
        throw new UnknownRequest(
          request.headers.cookie === undefined
            ? 'the browser sent no cookie with the answer, so the request that it answers is unknown; where browsers keep the cookie ' +
                'of other sites back, set server.servlet.session.cookie.same-site: none'
            : 'the answered request does not belong to this session, has been answered, or is too old',
        )
      }
      refuseUnless(
        pending.values['registration'] === registration.id,
        'the answer comes from another identity provider than was asked',
      )
    }
    const key = toAssertionKey(registration.identityProvider.entityId, id)
    refuseUnless(
      await askStore(() => useAssertion(usedAssertions, key, usableUntilMs)),
      'the assertion has been used before',
    )
  }

  /** A page of the web UI that the operator has listed, checked once more by the operation that redirects to it. */
  #unsolicitedTarget(
    { inResponseTo }: AcceptedAssertion,
    relayState: string | null,
  ): string | undefined {
    const { relayStates } = this.#options.settings.idpInitiated
    if (inResponseTo !== undefined || relayState === null || !relayStates.includes(relayState))
      return undefined
    return `/auth/redirect?to=${encodeURIComponent(relayState)}`
  }

  /** 401, and never a redirect: the identity provider would send the browser straight back. */
  #refuse(request: FastifyRequest, error: unknown): never {
    const { log } = this.#options
    const note = {
      method: this.name,
      address: request.state.clientAddress,
      path: request.state.path,
    }
    const reason = error instanceof SamlRefused ? error.message : 'the answer could not be checked'
    request.state.auditNote = { kind: 'refused', method: this.name, reason }
    request.state.errorCode = 'CREDENTIALS_REFUSED'
    if (error instanceof SamlRefused)
      log.info({ ...note, reason: error.message }, 'a login was refused')
    else
      log.warn(
        { ...note, err: error },
        'a login was refused because its answer could not be checked',
      )
    const message = error instanceof UnknownRequest ? refusals.unknown : refusals.refused
    throw new GatewayError('CREDENTIALS_REFUSED', message, {
      page: { advice: [], action: { label: 'Start again', path: '/login' } },
    })
  }
}

/** A provider that sends lists does so at each login; that is worth one line. */
function createRoleNotes(log: FastifyBaseLogger): RoleNotes {
  let isSplitKnown = false
  return {
    skipped: (value) =>
      log.warn(
        { role: value.slice(0, 200) },
        'a role that looks like a distinguished name cannot be read',
      ),
    split: (value) => {
      if (isSplitKnown) return
      isSplitKnown = true
      log.warn(
        { role: value.slice(0, 200) },
        'one of several roles holds the delimiter and is split: a name of a group can bring roles in this way; where each value is ' +
          'one group, set saml.userAttributeMapping.rolesDelimiter to (?!), which matches nothing',
      )
    },
  }
}

function showMetadata(
  registration: RelyingParty,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  return reply
    .code(200)
    .header('content-type', metadataType)
    .send(formatSpMetadata(registration.describe(request.state)))
}

function sendPage(reply: FastifyReply, { html, headers }: Page): FastifyReply {
  return reply.code(200).headers(headers).send(html)
}
