/** Hosts that share a certificate: each has its own, unless many are below one registered domain. */
import type { CertificateRecord } from './certificate-store.ts'
import type { CertificateHost } from './front.ts'
import { registeredDomainOf } from './limits.ts'

/** Per registered domain; beyond it, hosts of one service share a certificate. */
const maxSingleHosts = 20
const maxNames = 100

/**
 * Merges records of one service that have neither order nor certificate.
 *
 * @param all Hosts of the front
 */
export function mergeNew(
  records: readonly CertificateRecord[],
  all: readonly CertificateHost[],
): { readonly merged: readonly CertificateRecord[]; readonly gone: readonly string[] } {
  const counts = Map.groupBy(all, ({ host }) => registeredDomainOf(host))
  const services = new Map(all.map(({ host, service }) => [host, service]))
  const keyOf = ({ hosts: [host = ''] }: CertificateRecord) => {
    const domain = registeredDomainOf(host)
    const isCrowded = (counts.get(domain)?.length ?? 0) > maxSingleHosts
    return isCrowded ? JSON.stringify([domain, services.get(host)]) : undefined
  }
  const isNew = ({ order, certificate }: CertificateRecord) =>
    order === undefined && certificate === undefined
  const merged: CertificateRecord[] = []
  const gone: string[] = []
  for (const [key, group] of Map.groupBy(records.filter(isNew), keyOf)) {
    if (key === undefined) continue
    let [current, ...rest] = group
    for (const record of rest) {
      if (current === undefined) break
      if (current.hosts.length + record.hosts.length <= maxNames) {
        current = { ...current, hosts: [...current.hosts, ...record.hosts] }
        gone.push(record.id)
        continue
      }
      merged.push(current)
      current = record
    }
    if (current !== undefined) merged.push(current)
  }
  return { merged, gone }
}

/** Hosts that hold others up get a record of their own, with the certificate that they have. */
export function splitOff(
  record: CertificateRecord,
  hosts: ReadonlySet<string>,
  id: string,
): readonly [rest: CertificateRecord, off: CertificateRecord] {
  const [off, rest] = [true, false].map((isOff) =>
    record.hosts.filter((host) => hosts.has(host) === isOff),
  )
  return [
    { ...record, hosts: rest ?? [] },
    { ...record, id, hosts: off ?? [], order: undefined },
  ]
}
