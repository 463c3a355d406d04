/** Accounts at ACME authorities, certificates with their state, and what counts against limits. Keys are encrypted. */
import { createPrivateKey } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import type { SecretValues } from '@fairlead/ports/secrets.ts'
import type { AcmeAccount } from './acme-authority.ts'
import { createKey } from './certificate-request.ts'

export const certificateMigrations = [
  `CREATE TABLE infrastructure_acme_accounts (
     directory TEXT PRIMARY KEY,
     key TEXT NOT NULL,
     url TEXT
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE infrastructure_acme_certificates (
     id TEXT PRIMARY KEY,
     document TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE infrastructure_acme_events (
     directory TEXT NOT NULL,
     kind TEXT NOT NULL,
     subject TEXT NOT NULL,
     at_ms INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX infrastructure_acme_events_by_subject
     ON infrastructure_acme_events (directory, kind, subject, at_ms);`,
] as const

/** What is being done for the hosts; what is served is the certificate, whatever the state. */
export type CertificateState = 'waiting-dns' | 'ordering' | 'valid' | 'failing' | 'limited'

/** Hosts that share a certificate, or will. A host is in one record. */
export interface CertificateRecord {
  readonly id: string
  readonly hosts: readonly string[]
  readonly state: CertificateState
  /** Milliseconds since the epoch, as all times here. */
  readonly sinceMs: number
  /** When something is due next. */
  readonly nextMs: number
  /** In a row. */
  readonly failures: number
  /** Why it is in this state, for people. */
  readonly cause?: string
  /** What else waits until then in the state `limited`: hosts of the same registered domains, or all. */
  readonly limits?: 'domains' | 'all'
  readonly order?: PlacedOrder
  readonly certificate?: HeldCertificate
}

export interface PlacedOrder {
  readonly url: string
  readonly directory: string
  /** Encrypted. */
  readonly key: string
  /** Noted before they are shown, and until they are cleared. */
  readonly proofs: readonly ShownProof[]
}

/** What shows an authority that a host is this machine's. */
export type ShownProof =
  /** The token, and the host. */
  | { readonly type: 'http-01' | 'tls-alpn-01'; readonly name: string }
  /** A TXT record. */
  | { readonly type: 'dns-01'; readonly name: string; readonly value: string }

export interface HeldCertificate {
  /** PEM. */
  readonly chain: string
  /** Encrypted. */
  readonly key: string
  readonly directory: string
  readonly issuedMs: number
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly renewAtMs: number
  /** The window of the authority's renewal information; undefined: it gives none. */
  readonly window?: RenewalWindow
  /** When renewal information is due. */
  readonly informedAtMs: number
}

export interface RenewalWindow {
  readonly startMs: number
  readonly endMs: number
  /** Where the authority explains it. */
  readonly explanation?: string
}

export type EventKind = 'account' | 'order' | 'domain' | 'names' | 'failure'

/** None where no certificate was ever ordered. */
export function loadCertificateRecords(db: DatabaseSync): CertificateRecord[] {
  const table = "SELECT 1 FROM sqlite_schema WHERE name = 'infrastructure_acme_certificates'"
  if (db.prepare(table).get() === undefined) return []
  return db
    .prepare('SELECT document FROM infrastructure_acme_certificates')
    .all()
    .map(({ document }) => parseJson(String(document)) as CertificateRecord)
}

const longestWindowMs = 7 * 24 * 3_600_000

export class CertificateStore {
  readonly #db: DatabaseSync
  readonly #secrets: SecretValues
  readonly #records = new Map<string, CertificateRecord>()
  readonly #put: StatementSync
  readonly #remove: StatementSync
  readonly #note: StatementSync
  readonly #times: StatementSync

  constructor(db: DatabaseSync, secrets: SecretValues) {
    this.#db = db
    this.#secrets = secrets
    this.#put = db.prepare(
      'INSERT INTO infrastructure_acme_certificates (id, document) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET document = excluded.document',
    )
    this.#remove = db.prepare('DELETE FROM infrastructure_acme_certificates WHERE id = ?')
    this.#note = db.prepare(
      'INSERT INTO infrastructure_acme_events (directory, kind, subject, at_ms) VALUES (?, ?, ?, ?)',
    )
    this.#times = db.prepare(
      'SELECT at_ms FROM infrastructure_acme_events WHERE directory = ? AND kind = ? AND subject = ? AND at_ms > ? ORDER BY at_ms',
    )
    for (const record of loadCertificateRecords(db)) this.#records.set(record.id, record)
  }

  all(): readonly CertificateRecord[] {
    return [...this.#records.values()]
  }

  get(id: string): CertificateRecord | undefined {
    return this.#records.get(id)
  }

  /** In one transaction. @param gone Ids of records that are removed */
  put(records: readonly CertificateRecord[], gone: readonly string[] = []): void {
    inTransaction(this.#db, () => {
      for (const id of gone) this.#remove.run(id)
      for (const record of records) this.#put.run(record.id, formatJson(record))
    })
    for (const id of gone) this.#records.delete(id)
    for (const record of records) this.#records.set(record.id, record)
  }

  /** The account at a directory; its key is made with the first use. @throws {PortError} when keys cannot be encrypted */
  account(directory: string): AcmeAccount {
    const place = `acme account ${directory}`
    const row = this.#db
      .prepare('SELECT key, url FROM infrastructure_acme_accounts WHERE directory = ?')
      .get(directory)
    if (row !== undefined) {
      const key = createPrivateKey(this.#secrets.unseal(String(row['key']), place))
      return { key, url: row['url'] === null ? undefined : String(row['url']) }
    }
    const key = createKey()
    this.#db
      .prepare('INSERT INTO infrastructure_acme_accounts (directory, key) VALUES (?, ?)')
      .run(directory, this.#secrets.seal(key, place))
    return { key: createPrivateKey(key), url: undefined }
  }

  noteAccount(directory: string, url: string): void {
    this.#db
      .prepare('UPDATE infrastructure_acme_accounts SET url = ? WHERE directory = ?')
      .run(url, directory)
  }

  /** Keys may move between records, so all have the same place. */
  seal(key: string): string {
    return this.#secrets.seal(key, keyPlace)
  }

  /** @throws {PortError} when the key of the secrets is missing */
  unseal(sealed: string): string {
    return this.#secrets.unseal(sealed, keyPlace)
  }

  /** Encrypts with the newest key what an older one did; leaves what cannot be read. */
  reseal(): void {
    const reseal = (sealed: string, place: string) => {
      try {
        return this.#secrets.reseal(sealed, place)
      } catch {
        return sealed
      }
    }
    for (const row of this.#db
      .prepare('SELECT directory, key FROM infrastructure_acme_accounts')
      .all()) {
      const [directory, key] = [String(row['directory']), String(row['key'])]
      const fresh = reseal(key, `acme account ${directory}`)
      if (fresh !== key)
        this.#db
          .prepare('UPDATE infrastructure_acme_accounts SET key = ? WHERE directory = ?')
          .run(fresh, directory)
    }
    const changed = this.all().flatMap((record) => {
      const [order, certificate] = [record.order, record.certificate].map(
        (held) => held && { ...held, key: reseal(held.key, keyPlace) },
      ) as [PlacedOrder | undefined, HeldCertificate | undefined]
      const isSame =
        order?.key === record.order?.key && certificate?.key === record.certificate?.key
      return isSame ? [] : [{ ...record, order, certificate }]
    })
    if (changed.length > 0) this.put(changed)
  }

  note(directory: string, kind: EventKind, subject: string, atMs: number): void {
    this.#note.run(directory, kind, subject, atMs)
    this.#db
      .prepare('DELETE FROM infrastructure_acme_events WHERE at_ms < ?')
      .run(atMs - longestWindowMs)
  }

  /** Times of events after that moment, oldest first. */
  timesSince(directory: string, kind: EventKind, subject: string, sinceMs: number): number[] {
    return this.#times.all(directory, kind, subject, sinceMs).map(({ at_ms }) => Number(at_ms))
  }
}

const keyPlace = 'acme certificate'
