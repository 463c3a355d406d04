/** Paths that need no login. Every path outside this table is protected. */

/** What a path needs of the caller: nothing, or the user if logged in. */
type NeededIdentity = 'none' | 'if-known'

export interface OpenPath {
  /** Exact, or everything below when it ends in `/**`. */
  readonly path: string
  /** Undefined: every method. */
  readonly methods?: readonly string[]
  readonly identity: NeededIdentity
  /** Closed by `security.webhooks.defaultAuthEnabled`. */
  readonly webhook?: true
}

/** @see docs/contracts/authentication.md#open-paths. A path of identity `none` is served even while the session store is down. */
export const alwaysOpen: readonly OpenPath[] = [
  { path: '/auth/user', identity: 'if-known' },
  { path: '/auth/loggedOut', identity: 'none' },
  { path: '/auth/logout', methods: ['GET', 'POST', 'PUT', 'DELETE'], identity: 'none' },
  { path: '/auth/device', methods: ['POST'], identity: 'none' },
  { path: '/auth/device/token', methods: ['POST'], identity: 'none' },
  { path: '/health', identity: 'none' },
  { path: '/livez', identity: 'none' },
  { path: '/readyz', identity: 'none' },
  { path: '/spectator/metrics', identity: 'none' },
  { path: '/error', identity: 'none' },
  { path: '/favicon.ico', identity: 'none' },
  { path: '/plugins/deck/**', identity: 'none' },
  { path: '/console', identity: 'none' },
  { path: '/console/**', identity: 'none' },
  { path: '/webhooks/**', methods: ['POST'], identity: 'if-known', webhook: true },
  { path: '/notifications/callbacks/**', methods: ['POST'], identity: 'if-known' },
  { path: '/managed/notifications/callbacks/**', methods: ['POST'], identity: 'if-known' },
  { path: '/managed/delivery-configs/schema', identity: 'none' },
  { path: '/apps/schema', identity: 'none' },
]

/**
 * Finds the entry that opens a path; undefined when the path is protected, as nearly all are. Paths compare byte by byte, as they
 * were sent. An exact entry wins over a wider one.
 */
export class OpenPathIndex {
  readonly #exact: ReadonlyMap<string, readonly OpenPath[]>
  readonly #below: readonly { start: string; entry: OpenPath }[]

  constructor(table: readonly OpenPath[]) {
    this.#exact = Map.groupBy(
      table.filter(({ path }) => !path.endsWith('/**')),
      ({ path }) => path,
    )
    this.#below = table.flatMap((entry) =>
      entry.path.endsWith('/**') ? [{ start: entry.path.slice(0, -2), entry }] : [],
    )
  }

  find(method: string, path: string): OpenPath | undefined {
    const exact = this.#exact.get(path)?.find((entry) => allows(entry, method))
    if (exact !== undefined) return exact
    for (const { start, entry } of this.#below)
      if (path.startsWith(start) && allows(entry, method)) return entry
    return undefined
  }
}

/** HEAD is GET without the body, so it is open where GET is. */
function allows({ methods }: OpenPath, method: string): boolean {
  return methods === undefined || methods.includes(method === 'HEAD' ? 'GET' : method)
}
