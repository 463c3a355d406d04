/** Certificates that the authority has not issued or renewed, as the embedded infrastructure has stored them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
} from '@fairlead/base/findings/finding.ts'
import {
  type CertificateRecord,
  loadCertificateRecords,
} from '@fairlead/providers/local/certificates/certificate-store.ts'
import { warnsFrom } from '@fairlead/providers/local/certificates/schedule.ts'
import type { Config } from '../config/config.ts'

export function checkCertificates(
  { backends }: { readonly backends: Pick<Config['backends'], 'dataDir'> },
  now: number,
): Check[] {
  const database = join(backends.dataDir, 'backends.db')
  if (!existsSync(database)) return []
  return [
    createCheck('Certificates of hosts', (report) => {
      const records = loadRecords(database)
      const late = records.filter(({ state }) => state !== 'valid' && state !== 'ordering')
      if (records.length > 0 && late.length === 0)
        return [report.ok(`look at ${records.length} certificates`, 'all are valid or ordered')]
      return late.map((record) => toFinding(record, report, now))
    }),
  ]
}

function loadRecords(file: string): readonly CertificateRecord[] {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    return loadCertificateRecords(db)
  } finally {
    db.close()
  }
}

function toFinding(
  { hosts, state, cause, nextMs, certificate }: CertificateRecord,
  report: Reporter,
  now: number,
): Finding {
  const [first = '', ...rest] = hosts
  const tried = `look at the certificate of ${first}${rest.length === 0 ? '' : ` and ${rest.length} more`}`
  const end = certificate && new Date(certificate.notAfterMs).toISOString()
  const held = end === undefined ? 'there is none yet' : `the present one ends on ${end}`
  const isUrgent = certificate !== undefined && now >= warnsFrom(certificate)
  return (isUrgent ? report.problem : report.warning)(
    tried,
    `${state}, ${held}: ${cause ?? 'no cause is known'}`,
    `remove the cause; Fairlead tries again on ${new Date(nextMs).toISOString()}`,
  )
}
