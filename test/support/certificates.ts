/** The certificates of the front over a data directory, with a clock that tests move. */
import { join } from 'node:path'
import pino from 'pino'
import { openDatabase } from '../../packages/base/storage/database.ts'
import { migrate } from '../../packages/base/storage/migrations.ts'
import { createUlids } from '../../packages/base/storage/ulid.ts'
import { decrypt, encrypt } from '../../packages/engine/secrets/encryption.ts'
import type { Ports } from '../../packages/ports/ports.ts'
import { certificateMigrations } from '../../packages/providers/local/certificates/certificate-store.ts'
import { Certificates } from '../../packages/providers/local/certificates/certificates.ts'
import type { CertificateFront } from '../../packages/providers/local/certificates/front.ts'
import type { Limits } from '../../packages/providers/local/certificates/limits.ts'
import type { AcmeSettings } from '../../packages/providers/local/certificates/settings.ts'

export interface CertificatesRig {
  readonly dataDir: string
  readonly settings: AcmeSettings
  readonly front: CertificateFront
  readonly clock?: { now: number }
  readonly limits?: Limits
  readonly log?: (line: string) => void
}

export const secretKey = { id: 'test', bytes: Buffer.alloc(32, 7) }

export interface RunningCertificates {
  readonly certificates: Certificates
  close(): Promise<void>
}

/** It is started, and what is due has begun. */
export function startCertificates({
  dataDir,
  settings,
  front,
  clock,
  limits,
  log = () => {},
}: CertificatesRig): RunningCertificates {
  const db = openDatabase(join(dataDir, 'backends.db'))
  migrate(db, 'clouddriver', certificateMigrations)
  const secrets: Pick<Ports['secrets'], 'seal' | 'unseal' | 'reseal'> = {
    seal: (text, place) => encrypt(text, place, secretKey),
    unseal: (sealed, place) => decrypt(sealed, place, [secretKey]),
    reseal: (sealed) => sealed,
  }
  const now = () => clock?.now ?? Date.now()
  const certificates = new Certificates({
    context: {
      db,
      now,
      log: pino({ base: null }, { write: log }),
      ports: { secrets } as Ports,
      stateChanged: () => {},
    },
    settings,
    front,
    newId: createUlids(Date.now),
    ...(limits && { limits }),
  })
  certificates.start()
  return {
    certificates,
    close: async () => {
      await certificates.close()
      db.close()
    },
  }
}
