/** Where an API server is, and how Fairlead logs in there. */

/** Plain data, which may be handed to threads. It holds secrets: never log it. */
export interface ClusterAccess {
  /** `https://…` or `http://…`, with a path prefix if there is one, without trailing slash. */
  readonly server: string
  /** PEM; undefined: the authorities that Node knows. */
  readonly certificateAuthority?: string | undefined
  /** Name that the certificate of the server must have, instead of the host of `server`. */
  readonly tlsServerName?: string | undefined
  readonly skipsTlsVerification?: boolean
  /** `http://` or `https://`, perhaps with user and password. */
  readonly proxyUrl?: string | undefined
  readonly clientCertificate?: ClientCertificate | undefined
  readonly login: ClusterLogin
  readonly impersonation?: Impersonation | undefined
  /** Namespace of the context; `default` where it names none. */
  readonly namespace: string
}

/** PEM. */
export interface ClientCertificate {
  readonly certificate: string
  readonly key: string
}

export type ClusterLogin =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  /** The content of the file changes. */
  | { readonly kind: 'token-file'; readonly file: string }
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'exec'; readonly exec: ExecPlugin }

/** Program that prints credentials (client.authentication.k8s.io). */
export interface ExecPlugin {
  readonly apiVersion: string
  /** Absolute path, or a bare name. */
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly installHint?: string | undefined
  /** Facts about the cluster for the command, as the protocol spells them; undefined: none. */
  readonly clusterInfo?: Readonly<Record<string, unknown>> | undefined
}

export interface Impersonation {
  readonly user: string
  readonly uid?: string | undefined
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}
