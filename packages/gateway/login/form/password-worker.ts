/** Thread that hashes passwords. */
import { argon2Sync } from 'node:crypto'
import { serveJobs } from '@fairlead/base/concurrency/side-thread.ts'

/** Parameters of Argon2id; memory in KiB. */
export interface PasswordJob {
  readonly message: Uint8Array
  readonly nonce: Uint8Array
  readonly parallelism: number
  readonly tagLength: number
  readonly memory: number
  readonly passes: number
}

serveJobs((job: PasswordJob) => ({
  reply: new Uint8Array(argon2Sync('argon2id', job)),
  transfer: [],
}))
