/** The certificates in a process of their own, for tests that kill it. The front is that of the parent, as the agent is one that survives. */
import type {
  CertificateFront,
  CertificateHost,
} from '../../../../packages/providers/local/certificates/front.ts'
import type { AcmeSettings } from '../../../../packages/providers/local/certificates/settings.ts'
import { startCertificates } from '../../../support/certificates.ts'

interface Task {
  readonly dataDir: string
  readonly settings: AcmeSettings
  readonly hosts: readonly CertificateHost[]
}

const { dataDir, settings, hosts } = JSON.parse(process.argv[2] ?? '{}') as Task
const taken: (() => void)[] = []
process.on('message', () => taken.shift()?.())

const tell =
  (name: string) =>
  (...args: readonly unknown[]): void => {
    process.send?.({ name, args })
  }

const front: CertificateFront = {
  hosts: () => hosts,
  serve: tell('serve'),
  withdraw: tell('withdraw'),
  setHttpChallenge: tell('setHttpChallenge'),
  setTlsChallenge: tell('setTlsChallenge'),
  clearChallenge: tell('clearChallenge'),
  isTaken: () =>
    new Promise((resolve) => {
      taken.push(() => resolve(true))
      tell('isTaken')()
    }),
}
startCertificates({ dataDir, settings, front })
