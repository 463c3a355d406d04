/** Uploads as files: only the client of an upload waits while it sends slowly. */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { PortError } from '@fairlead/base/port-error.ts'
import { bounded, type UnpackBounds } from './unpack.ts'

/**
 * Writes an archive to a file of its own, which the caller removes.
 *
 * @param digest `sha256:` and the expected hash of its bytes; undefined: not checked
 * @throws {PortError} 400 when it breaks off or has another digest; 413 beyond what an image may have
 */
export async function receiveArchive(
  archive: AsyncIterable<Uint8Array>,
  file: string,
  { digest, bounds }: { readonly digest: string | undefined; readonly bounds: UnpackBounds },
): Promise<void> {
  const hash = createHash('sha256')
  async function* checked(): AsyncIterable<Uint8Array> {
    for await (const chunk of bounded(readable(archive), bounds)) {
      hash.update(chunk)
      yield chunk
    }
  }
  await pipeline(checked(), createWriteStream(file, { flags: 'wx', mode: 0o600 }))
  const found = `sha256:${hash.digest('hex')}`
  if (digest !== undefined && digest !== found) {
    throw new PortError(
      400,
      `The archive was damaged on its way: its digest is ${found}, and ${digest} was announced.`,
    )
  }
}

/** An error of the sender, unlike one of the disk, is the client's. @throws {PortError} 400 */
export async function* readable(archive: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* archive
  } catch (error) {
    throw new PortError(400, `The archive cannot be read: ${(error as Error).message}`)
  }
}
