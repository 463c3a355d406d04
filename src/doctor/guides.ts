/** Which guide of the documentation explains a finding. */
import type { Finding } from '../findings/finding.ts'

/** By how subjects begin; the first that fits. */
const guides: readonly (readonly [subject: RegExp, guide: string])[] = [
  [/^LDAP/, 'login-ldap'],
  [/^OAuth/, 'login-oauth2'],
  [/^SAML/, 'login-saml'],
  [/^(Client certificates|Revocation lists|Trusted authorities)/, 'login-x509'],
  [/^Trusted header/, 'login-header'],
  [/^Redis/, 'replicas'],
  [/^(Certificate|TLS|Balancer|Public address)/, 'tls'],
  [/^Kubernetes/, 'deploy-to-kubernetes'],
  [/^Metrics account/, 'canary-analysis'],
  [/^Outside accounts/, 'permissions'],
  [/^Secrets/, 'secrets'],
  [/^(Data directory|Next start)/, 'first-start'],
  [/^Service/, 'run-in-front-of-spinnaker'],
  [/^Configuration/, 'configure'],
]

/** What is in order needs none. */
export function withGuide(finding: Finding): Finding {
  const guide = guides.find(([subject]) => subject.test(finding.subject))?.[1]
  return finding.verdict === 'ok' || guide === undefined ? finding : { ...finding, guide: `docs/guides/${guide}.md` }
}
