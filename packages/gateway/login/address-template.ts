/** Templates of our own addresses, with the placeholders of Spring. */

interface AddressValues {
  readonly baseUrl: string
  readonly registrationId: string
}

export function fillAddress(template: string, { baseUrl, registrationId }: AddressValues): string {
  const { protocol, hostname, port, pathname } = new URL(baseUrl)
  return fill(fillRegistration(template, registrationId), {
    baseUrl,
    baseScheme: protocol.slice(0, -1),
    baseHost: hostname,
    basePort: port === '' ? '' : `:${port}`,
    basePath: pathname === '/' ? '' : pathname,
  })
}

export function fillRegistration(template: string, registrationId: string): string {
  return fill(template, { registrationId, action: 'login' })
}

/** Names that are no part of the template language stay as they are. */
function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] as string) : whole,
  )
}

/** Without query and credentials, which may be secret. */
export function showAddress(url: string): string {
  return url.replace(/[?#].*/s, '').replace(/\/\/[^/@]*@/, '//')
}
