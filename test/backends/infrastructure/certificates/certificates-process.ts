/** The certificates in a process of their own, for tests that kill it: prints a line whenever a certificate is served. */
import { startCertificateFront, toHosts } from '../../../support/certificate-front.ts'
import { startCertificates } from '../../../support/certificates.ts'

const { dataDir, settings, ports, hosts } = JSON.parse(process.argv[2] ?? '{}')
const front = await startCertificateFront({ after: () => {} }, ports)
front.wanted = toHosts(hosts)
const { serve } = front
front.serve = (name, certificate) => {
  serve(name, certificate)
  process.stdout.write(`${JSON.stringify(certificate.chain)}\n`)
}
startCertificates({ dataDir, settings, front })
