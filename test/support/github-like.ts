/** A provider that speaks OAuth 2.0 as GitHub does: no discovery, no ID token, forms as answers, 200 for refusals. */
import type { TestContext } from 'node:test'
import { type RecordedRequest, Reply, startUpstream, type Upstream } from './upstream.ts'

export interface GithubLike extends Upstream {
  /** The user-info answer; `organizations_url` is added unless it is named here. */
  person: Record<string, unknown>
  /** Pages of `/user/orgs`: lists of logins, or a whole answer. */
  organizations: readonly (readonly string[] | Reply)[]
}

const form = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }

export async function startGithubLike(t: TestContext): Promise<GithubLike> {
  const upstream = await startUpstream(t)
  const provider: GithubLike = Object.assign(upstream, {
    person: { login: 'al', name: 'A L', email: null, id: 583231 } as Record<string, unknown>,
    organizations: [['acme']] as GithubLike['organizations'],
  })
  upstream.answer((request) => answer(provider, request))
  return provider
}

function answer(
  provider: GithubLike,
  { method, path, query, body, headers }: RecordedRequest,
): unknown {
  const parameters = new URLSearchParams(query)
  if (path === '/login/oauth/authorize') {
    const back = new URLSearchParams({ code: 'good-code', state: parameters.get('state') ?? '' })
    return new Reply(302, undefined, { location: `${parameters.get('redirect_uri')}?${back}` })
  }
  if (method === 'POST' && path === '/login/oauth/access_token')
    return exchange(new URLSearchParams(body), headers.accept)
  if (headers.authorization !== 'Bearer gho_token')
    return new Reply(401, { message: 'Bad credentials' })
  if (path === '/user')
    return { organizations_url: `${provider.url}/user/orgs`, ...provider.person }
  if (path === '/user/orgs') return listOrganizations(provider, Number(parameters.get('page') ?? 1))
  return new Reply(404, { message: 'Not Found' })
}

/** GitHub answers with JSON to those who ask for it; its older installations and lookalikes do not. */
function exchange(sent: URLSearchParams, accept: string | undefined): Reply {
  if (accept === undefined) return new Reply(406)
  if (sent.get('code') !== 'good-code') {
    return new Reply(
      200,
      'error=bad_verification_code&error_description=The+code+passed+is+incorrect+or+expired.',
      form,
    )
  }
  return new Reply(200, 'access_token=gho_token&scope=read%3Auser&token_type=bearer', form)
}

function listOrganizations({ organizations, url }: GithubLike, page: number): unknown {
  const list = organizations[page - 1] ?? []
  if (list instanceof Reply) return list
  const body = list.map((login, index) => ({ login, id: index }))
  const link = `<${url}/user/orgs?page=${page + 1}>; rel="next", <${url}/user/orgs?page=${organizations.length}>; rel="last"`
  return new Reply(200, body, page < organizations.length ? { link } : {})
}
