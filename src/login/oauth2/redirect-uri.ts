/** Redirect URIs from a template and the public address. */

interface RedirectPlace {
  readonly baseUrl: string
  readonly registrationId: string
}

/** Names that are no part of the template language stay as they are. */
export function fillRedirectUri(template: string, { baseUrl, registrationId }: RedirectPlace): string {
  const { protocol, hostname, port, pathname } = new URL(baseUrl)
  const values: Readonly<Record<string, string>> = {
    baseUrl,
    baseScheme: protocol.slice(0, -1),
    baseHost: hostname,
    basePort: port === '' ? '' : `:${port}`,
    basePath: pathname === '/' ? '' : pathname,
    registrationId,
    action: 'login',
  }
  return template.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] as string) : whole,
  )
}
