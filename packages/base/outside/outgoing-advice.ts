/** Advice on a setting that an account's programs lack, by what they print. */

const untrusted =
  /SELF_SIGNED_CERT|DEPTH_ZERO_SELF|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)|self-signed certificate|CERTIFICATE_VERIFY_FAILED|certificate verification failed|signed by unknown authority|SSL certificate problem|unable to get local issuer/i
const unreached =
  /ENOTFOUND|EAI_AGAIN|ENETUNREACH|ETIMEDOUT|ECONNREFUSED|Could not resolve|no such host|name resolution|Network is unreachable|i\/o timeout/i

/**
 * @param output Of a bake or build that has failed
 * @param own Environment of Fairlead, which programs do not get
 * @returns sentences; empty where it is about something else
 */
export function adviseOnOutgoing(
  output: string,
  account: string,
  own: Readonly<NodeJS.ProcessEnv> = process.env,
): string {
  const guide = 'The guide "Private packages" tells more.'
  const key = (name: string) => `"${name}" of the account ${account} in local.accounts`
  if (untrusted.test(output)) {
    const file = own['NODE_EXTRA_CA_CERTS'] ?? own['SSL_CERT_FILE']
    const such =
      file === undefined ? '' : `, such as ${file}, which Fairlead itself was started with`
    return `A server's certificate is of an authority that is not trusted: set ${key('ca-file')} to a PEM file that has it${such}. ${guide}`
  }
  const proxy = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].find((name) => own[name])
  if (proxy === undefined || !unreached.test(output)) return ''
  return `A server was not reached. Fairlead itself was started with ${proxy}, which programs do not get: set ${key('proxy')}. ${guide}`
}
