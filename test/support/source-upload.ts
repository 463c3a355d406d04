/** A folder of texts, uploaded as the command line does it. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { create } from 'tar'

export interface UploadedSource {
  readonly source: string
  /** Contents that were sent. */
  readonly sent: number
}

interface SourceAnswer {
  readonly source: string
  readonly complete: boolean
  readonly missing: readonly string[]
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function toManifest(files: Readonly<Record<string, string>>) {
  return {
    files: Object.entries(files).map(([path, text]) => ({
      path,
      mode: path.endsWith('.sh') ? 0o755 : 0o644,
      size: Buffer.byteLength(text),
      sha256: digestOf(text),
    })),
    links: [] as { path: string; target: string }[],
  }
}

/** A tar archive, compressed with gzip, with an entry for each text. */
export async function toArchive(texts: readonly string[]): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-source-'))
  try {
    mkdirSync(folder, { recursive: true })
    for (const text of texts) writeFileSync(join(folder, digestOf(text)), text)
    const archive = create({ cwd: folder, gzip: true }, texts.map(digestOf))
    return await buffer(archive as unknown as AsyncIterable<Buffer>)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param base Address of `/apps/…`, of the gateway or the build service */
export async function uploadSource(
  base: string,
  application: string,
  files: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<UploadedSource> {
  const address = `${base}/apps/${application}/sources`
  const send = async (method: string, url: string, body: string | Buffer, type: string) => {
    const answer = await fetch(url, {
      method,
      body: body as string | Uint8Array<ArrayBuffer>,
      headers: { ...headers, 'content-type': type },
    })
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    return JSON.parse(text) as SourceAnswer
  }
  const list = JSON.stringify(toManifest(files))
  const { source, missing, complete } = await send('POST', address, list, 'application/json')
  if (complete) return { source, sent: 0 }
  const wanted = new Set(missing)
  const archive = await toArchive([
    ...new Set(Object.values(files).filter((text) => wanted.has(digestOf(text)))),
  ])
  const after = await send('PUT', `${address}/${source}`, archive, 'application/x-tar')
  assert.equal(after.complete, true)
  return { source, sent: missing.length }
}
