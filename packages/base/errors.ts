/** Error codes of the gateway with status and meaning, and the class that carries them. */

/**
 * `shape` is the body that clients of Gate expect: `error` for faults found by the gateway's own code, `problem`
 * (RFC 9457) for faults of the request itself, `message` for shed and limited requests.
 */
export type ErrorShape = 'error' | 'problem' | 'message'

interface ErrorCodeEntry {
  readonly status: number
  readonly meaning: string
  readonly shape?: ErrorShape
}

export const errorCodes = {
  BAD_ARGUMENT: {
    status: 400,
    meaning: 'An argument is invalid; the message names it and the reason.',
  },
  PATH_REFUSED: {
    status: 400,
    meaning:
      'The path is ambiguous: encoded slash, dot or percent, "//", ";", backslash, control character.',
  },
  MISSING_PARAMETER: {
    status: 400,
    shape: 'problem',
    meaning: 'A required query parameter is missing.',
  },
  MISTYPED_PARAMETER: {
    status: 400,
    shape: 'problem',
    meaning: 'A parameter does not have the declared type.',
  },
  MISSING_BODY: {
    status: 400,
    shape: 'problem',
    meaning: 'The operation needs a body and none was sent.',
  },
  UNREADABLE_BODY: {
    status: 400,
    shape: 'problem',
    meaning: 'The body is not well-formed JSON or YAML, or does not have the declared shape.',
  },
  TASK_FAILED: {
    status: 400,
    meaning: 'A definition was not saved: the task that does it failed or did not finish in time.',
  },
  REDIRECT_REFUSED: {
    status: 400,
    meaning: 'The address given in "to" is neither that of the web UI nor one of the console.',
  },
  LOGIN_REQUIRED: { status: 401, meaning: 'The request carries no session or credentials.' },
  CREDENTIALS_REFUSED: { status: 401, meaning: 'The credentials are wrong, expired or revoked.' },
  PERMISSION_DENIED: { status: 403, meaning: 'The user is known but may not do this.' },
  USER_NAME_REFUSED: {
    status: 403,
    meaning:
      'The credentials are right, but Fairlead rejects the user name; the message names the reason.',
  },
  CERTIFICATE_REQUIRED: {
    status: 403,
    meaning:
      'The request has no accepted client certificate, and no other login method is configured.',
  },
  TOKEN_LIMITED: {
    status: 403,
    meaning: 'The limits of the API token do not allow this, although its user may do it.',
  },
  ORIGIN_REFUSED: {
    status: 403,
    meaning:
      'The page that sent the request may not use this gateway with the cookies of its visitor.',
  },
  NOT_FOUND: { status: 404, meaning: 'There is no such resource.' },
  CONSOLE_MISSING: {
    status: 404,
    meaning: 'The web console is switched on and its files are missing: it was not built.',
  },
  NO_ROUTE: { status: 404, shape: 'problem', meaning: 'No operation has this path.' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    shape: 'problem',
    meaning: 'The path exists, but not with this method; the Allow header lists those that do.',
  },
  NOT_ACCEPTABLE: {
    status: 406,
    shape: 'problem',
    meaning:
      'The response exists as JSON and YAML only, and the Accept header names neither; or it is too large for YAML.',
  },
  REQUEST_TIMEOUT: { status: 408, meaning: 'The request did not arrive completely in time.' },
  CONFLICT: { status: 409, meaning: 'The resource is in a state that does not permit this.' },
  BODY_TOO_LARGE: {
    status: 413,
    shape: 'problem',
    meaning: 'The body has more bytes or values than allowed; the message names the setting.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    shape: 'problem',
    meaning: 'The body is neither JSON nor YAML.',
  },
  UNSUPPORTED_CONTENT_CODING: {
    status: 415,
    shape: 'problem',
    meaning:
      'The encoding of the body is not supported; the Accept-Encoding header lists the supported ones.',
  },
  RATE_LIMITED: {
    status: 429,
    shape: 'message',
    meaning: 'Too many requests from one user; try again later.',
  },
  HEADERS_TOO_LARGE: {
    status: 431,
    shape: 'problem',
    meaning: 'The request line and headers exceed `http.maxHeaderBytes`.',
  },
  UNEXPECTED: {
    status: 500,
    meaning: 'A defect of the gateway. The log has the cause with the request id.',
  },
  UPSTREAM_FAILED: {
    status: 502,
    meaning: 'A service returned an error; the response has its status.',
  },
  UPSTREAM_UNREACHABLE: {
    status: 502,
    meaning: 'A service could not be reached, or closed the connection before it answered.',
  },
  UPSTREAM_UNREADABLE: {
    status: 502,
    meaning: 'A service sent a response that the operation cannot read.',
  },
  TOO_MANY_CONNECTIONS: {
    status: 503,
    meaning:
      'One address has opened more connections than `http.maxConnectionsPerAddress` allows, or all clients together more than `http.maxConnections`.',
  },
  TOO_MANY_BODIES: {
    status: 503,
    shape: 'problem',
    meaning:
      'Other large bodies are being read, or written as YAML, as many as fit into memory; try again later.',
  },
  SESSIONS_UNAVAILABLE: {
    status: 503,
    meaning:
      'The session store cannot be read or written; until it can, requests with a session are rejected.',
  },
  TOKENS_UNAVAILABLE: {
    status: 503,
    meaning:
      'The store of API tokens cannot be read or written; until it can, tokens are rejected.',
  },
  TOO_MANY_STREAMS: {
    status: 503,
    meaning:
      'The replica serves as many event streams as it may; 429 if it is the caller who has too many of them.',
  },
  PLUGINS_UNAVAILABLE: {
    status: 503,
    meaning:
      'A plugin of Deck, or the list of plugins, cannot be fetched at the moment; the log has the reason.',
  },
  BANNERS_UNAVAILABLE: {
    status: 503,
    meaning: 'The store of the banners cannot be read or written.',
  },
  LOGIN_UNAVAILABLE: {
    status: 503,
    meaning:
      'The login cannot be completed because the permission service or a directory does not answer.',
  },
  PERMISSIONS_UNAVAILABLE: {
    status: 503,
    meaning:
      'The permission service does not answer, so requests that need a login are rejected; sessions are kept.',
  },
  AUDIT_UNAVAILABLE: {
    status: 503,
    meaning:
      'The audit log cannot be written; with `audit.required`, changes and logins are rejected until it can.',
  },
  SHUTTING_DOWN: {
    status: 503,
    meaning: 'This replica is stopping; retry, and a load balancer picks another.',
  },
  REQUEST_SHED: {
    status: 503,
    shape: 'message',
    meaning: 'Low-priority requests of this kind are rejected while the platform is overloaded.',
  },
  SERVICE_DISABLED: {
    status: 503,
    meaning: 'The service behind this operation is switched off in the configuration.',
  },
  CIRCUIT_OPEN: {
    status: 503,
    meaning:
      'A service has failed repeatedly and is not called until it answers a probe; `Retry-After` says when to try again.',
  },
  UPSTREAM_OVERLOADED: {
    status: 503,
    meaning: 'Too many requests are already waiting for a slow service.',
  },
  UPSTREAM_TIMEOUT: { status: 504, meaning: 'A service did not answer in time.' },
  STORAGE_FAILED: {
    status: 507,
    meaning: 'The data directory cannot be written: its disk is full, fails or is read-only.',
  },
} as const satisfies Record<string, ErrorCodeEntry>

export type ErrorCode = keyof typeof errorCodes

interface ErrorDetails {
  /** Reaches the log only. */
  cause?: unknown
  /** Replaces the status of the table, for errors that a service decided. */
  status?: number
  /** The service that failed, and the status that it answered with, if it answered. */
  upstream?: { service: string; status?: number }
  /** Fields merged last into the body, as Gate does for template errors. */
  fields?: Record<string, unknown>
  headers?: Record<string, string>
  /** What the user lacks, for the audit log. */
  missing?: string
  /** Where the page for browsers says something else than usual for the code. */
  page?: PageParts
}

/** What a page for browsers says besides the message of an error. */
export interface PageParts {
  readonly heading?: string
  /** Paragraphs. */
  readonly advice?: readonly string[]
  /** A list of what may be wrong. */
  readonly causes?: readonly string[]
  /** The button; its path lies below the context path. */
  readonly action?: { readonly label: string; readonly path: string }
}

/** A text, or what it says of `upstream.service` under the name that is given. */
type ErrorMessage = string | ((service: string) => string)

/** An error that may be shown to a client: `message` is for people, `cause` only for the log. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: ErrorDetails
  readonly #message: ErrorMessage

  constructor(code: ErrorCode, message: ErrorMessage, details: ErrorDetails = {}) {
    const text =
      typeof message === 'string' ? message : message(details.upstream?.service ?? 'a service')
    super(text, details.cause === undefined ? undefined : { cause: details.cause })
    this.#message = message
    this.name = 'GatewayError'
    this.code = code
    this.status = details.status ?? errorCodes[code].status
    this.details = details
  }

  /** The same error under the names by which clients know the services. */
  namedBy(nameOf: (service: string) => string): GatewayError {
    const { service } = this.details.upstream ?? {}
    if (service === undefined || typeof this.#message === 'string') return this
    return new GatewayError(this.code, this.#message(nameOf(service)), this.details)
  }
}

/** The body shape that belongs to an error code. */
export function errorShapeOf(code: ErrorCode): ErrorShape {
  return (errorCodes[code] as ErrorCodeEntry).shape ?? 'error'
}
