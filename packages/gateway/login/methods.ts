/** All login methods. Where several are active, those of one kind stand in this order. */
import { formMethod } from './form/method.ts'
import { headerMethod } from './header/method.ts'
import { iapMethod } from './iap/method.ts'
import { ldapMethod } from './ldap/method.ts'
import type { LoginMethodType } from './method-type.ts'
import { oauth2Method } from './oauth2/method.ts'
import { samlMethod } from './saml/method.ts'
import { x509Method } from './x509/method.ts'

export const loginMethods: readonly LoginMethodType[] = [
  oauth2Method,
  samlMethod,
  ldapMethod,
  headerMethod,
  iapMethod,
  x509Method,
  // The last one: it is on where no other method is.
  formMethod,
]
