/** Forwards requests below `/proxies/{id}` to configured services outside the platform. */
import { GatewayError } from '@fairlead/base/errors.ts'
import type { Answer } from '@fairlead/base/net/call.ts'
import { callConfigured } from '@fairlead/base/net/call-configured.ts'
import { encodeSegments } from '@fairlead/base/net/encode-path.ts'
import { isRedirect, maxRedirects } from '../upstreams/call-target.ts'
import type { ProxySettings } from './settings.ts'

interface ProxyRequest {
  readonly id: string
  readonly method: string
  readonly rest: string
  readonly query: URLSearchParams
  readonly contentType: string | undefined
  readonly body: Buffer | undefined
}

interface ProxyAnswer extends Answer {
  readonly url: URL
}

/**
 * Neither identity nor cookies of the caller reach the service. Redirects are followed within its address, for reads only.
 *
 * @throws {GatewayError} BAD_ARGUMENT for an unknown id, METHOD_NOT_ALLOWED, UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT
 */
export async function callProxy(
  proxies: readonly ProxySettings[],
  request: ProxyRequest,
): Promise<ProxyAnswer> {
  const proxy = proxies.find(({ id }) => id.toLowerCase() === request.id.toLowerCase())
  if (proxy === undefined)
    throw new GatewayError('BAD_ARGUMENT', `No proxy config found with id '${request.id}'`)
  const { method, contentType, body } = request
  const isRead = method === 'GET' || method === 'HEAD'
  if (!proxy.methods.includes(method) && !(isRead && proxy.methods.includes('GET')))
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      `The proxy ${proxy.id} forwards ${proxy.methods.join(', ')} only.`,
    )
  const headers = {
    'X-SPINNAKER-ANONYMOUS': 'anonymous',
    ...(contentType !== undefined && { 'content-type': contentType }),
  }
  let url = toUrl(proxy.uri, request)
  for (let followed = 0; ; followed++) {
    const answer = await callConfigured({
      ...proxy,
      name: `The service of the proxy ${proxy.id}`,
      method,
      url,
      headers,
      body,
    })
    const { location } = answer.headers
    if (!isRead || !isRedirect(answer.status) || location === undefined) return { ...answer, url }
    const target = URL.parse(location, url)
    if (target?.origin !== url.origin || followed === maxRedirects)
      throw new GatewayError(
        'UPSTREAM_UNREADABLE',
        `The service of the proxy ${proxy.id} redirects to another host, or for ever.`,
      )
    url = target
  }
}

function toUrl(uri: string, { rest, query }: ProxyRequest): URL {
  const url = new URL(rest === '' ? uri : `${uri}/${encodeSegments(rest)}`)
  for (const [name, value] of query) url.searchParams.append(name, value)
  return url
}
