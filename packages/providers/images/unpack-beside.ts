/** Unpacks archives in a process beside this one, whose other requests wait for none of it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { PortError } from '@fairlead/base/port-error.ts'
import { ownSources } from '@fairlead/base/runtime/own-sources.ts'
import { openSandbox } from '@fairlead/base/sandbox/sandbox.ts'
import type { SandboxChoice } from '@fairlead/base/sandbox/settings.ts'
import type { ImageContent } from './measure-image.ts'
import { readable } from './receive.ts'
import type { UnpackBounds } from './unpack.ts'

export interface UnpackOrder {
  readonly bounds: UnpackBounds
  /** JSON of a template, for what the archive's `fairlead-image.yml` does not say itself. */
  readonly imageFile?: string
}

export type UnpackReport =
  | { readonly kind: 'stored'; readonly content: ImageContent }
  | { readonly kind: 'refused'; readonly status: number; readonly message: string }

/** The program of the process: the one beside this file. Tests start that of the bundle instead: half of the processor time. */
export const unpackerProgram = {
  file: new URL(
    import.meta.url.endsWith('.ts') ? './unpacker.ts' : './unpacker.js',
    import.meta.url,
  ),
}

/** Enough for the names of as many files as an image may have. */
const memoryMegabytes = 512
/** Includes what Node needs besides. */
const memoryBytes = 3 * memoryMegabytes * 1024 * 1024

/**
 * @param folder Empty; after an error its content is undefined.
 * @throws {PortError} 400 for an archive that is damaged or hostile; 413 beyond the bounds; 507 for a full disk
 */
export async function unpackBeside(
  archive: AsyncIterable<Uint8Array>,
  folder: string,
  order: UnpackOrder,
  sandbox: SandboxChoice = 'auto',
): Promise<ImageContent> {
  const file = fileURLToPath(unpackerProgram.file)
  const command = [
    process.execPath,
    `--max-old-space-size=${memoryMegabytes}`,
    file,
    JSON.stringify(order),
  ]
  // It checks each entry by itself, so that machines without a sandbox have it, too.
  const { wrap } = await openSandbox(sandbox).catch(() => openSandbox('none'))
  const [program = '', ...args] = wrap(command, {
    folder,
    network: 'none',
    readOnly: ownSources(file),
    memoryBytes,
  })
  const child = spawn(program, args, {
    cwd: folder,
    env: {},
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // It has no pipes if it cannot be started.
  await once(child, 'spawn')
  const { promise: ended, resolve } = Promise.withResolvers<string>()
  child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`))
  const sent = pipeline(readable(archive), child.stdin).catch((error: unknown) => error)
  const [answer, end, fault] = await Promise.all([text(child.stdout), ended, sent])
  // Once it has refused the archive it reads no more, which is no fault of the archive.
  if (fault instanceof PortError) throw fault
  if (answer === '')
    throw new Error(`The image cannot be unpacked: the process for it ended with ${end}.`)
  const report = JSON.parse(answer) as UnpackReport
  if (report.kind === 'refused') throw new PortError(report.status, report.message)
  return report.content
}
