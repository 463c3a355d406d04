/** The purpose of a request, known as soon as it has arrived, also when it is refused. */

export interface Route {
  /** Pattern of routers: `/applications/:application`. */
  readonly url: string
  /** Id of the operation; undefined for what a login method serves. */
  readonly operation?: string
  readonly changesNothing?: boolean
  readonly cost: number
}

/**
 * Finds the operation of a request, and the decoded values in its path; `rest` for a final wildcard.
 *
 * @param url Path, below the context path, and query.
 * @throws {GatewayError} BAD_ARGUMENT for an overlong value in the path
 */
export type FindRoute = (
  method: string,
  url: string,
) => { route: Route; params: Record<string, string> } | undefined

/** The one route that the framework has for all operations: its own routes are made anew, at length, for each server. */
export const anyPath = '/*'

/** In characters, of one value in a path; longer ones are refused. */
export const maxParamLength = 8192
