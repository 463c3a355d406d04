/** An S3-compatible store on loopback that checks signatures; it is in memory and ends with the test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { needsObjectStore } from './kubernetes-programs.ts'

export interface ObjectStore {
  readonly keyId: string
  readonly secret: string
  /** The address for Litestream of a folder in its bucket. */
  copyUrl(folder: string): string
}

const bucket = 'copies'
const [keyId, secret] = ['TESTKEY', 'a-secret-of-the-test']

/** Undefined where the test is skipped. */
export async function startObjectStore(t: TestContext): Promise<ObjectStore | undefined> {
  const program = needsObjectStore(t)
  if (program === undefined) return undefined
  const store = spawn(program, [bucket, keyId, secret], { stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => store.kill('SIGKILL'))
  const [line] = (await once(store.stdout, 'data')) as [Buffer]
  const query = new URLSearchParams({ endpoint: line.toString().trim(), region: 'eu-west-1' })
  return { keyId, secret, copyUrl: (folder) => `s3://${bucket}/${folder}?${query}` }
}
