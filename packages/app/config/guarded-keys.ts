/** Keys that decide who gets in or what is public: below them, an unknown key prevents the start. */
import { uniformName } from './known-keys.ts'

const guarded = [
  'anonymous',
  'api-tokens',
  'auth',
  'backends.address',
  'backends.key',
  'backends.tls',
  'cors',
  'fairlead.admin',
  'fiat',
  'google.iap',
  'header',
  'ldap',
  'login',
  'management.server.address',
  'permissions',
  'redis.tls',
  'saml',
  'security',
  'server.address',
  'server.ssl',
  'service-accounts',
  'services.fiat',
  'spring.security',
  'trigger.git.shared-secret',
  'user-configured-url-restrictions',
  'webhook-notifications.secret',
  'x509',
].map((path) => path.split('.').map(uniformName))

/** Names that restrict an account, a build server or a stage, wherever they are. */
const guardedNames: ReadonlySet<string> = new Set(['permissions', 'requiredgroupmembership'])

export function isGuarded(path: readonly string[]): boolean {
  const names = path.map(uniformName)
  return (
    names.some((name) => guardedNames.has(name)) ||
    guarded.some((prefix) => prefix.every((name, index) => name === names[index]))
  )
}
