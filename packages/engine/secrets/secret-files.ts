/** Secrets in files of a directory, such as credentials of systemd or a mounted Secret of Kubernetes. */
import type { BigIntStats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PortError } from '@fairlead/base/port-error.ts'
import { matchesRule, type SecretSettings } from './settings.ts'

interface SecretFiles extends Pick<SecretSettings, 'files'> {
  readonly keyFile: string
}

const maxBytes = 64 * 1024

/**
 * The content without a line break at its end.
 *
 * @param name Checked as a name: it leads to no other directory
 * @throws {PortError} 400
 */
export async function readSecretFile(
  name: string,
  application: string | undefined,
  { files, keyFile }: SecretFiles,
): Promise<string> {
  const { directory, rules = [] } = files ?? {}
  const what = `secret:file:${name}`
  if (directory === undefined)
    throw new PortError(400, `${what} cannot be read: set secrets.files.directory.`)
  const path = join(directory, name)
  const patterns = rules.map(({ applications, names }) => ({ applications, patterns: names }))
  if (!matchesRule(name, application, patterns)) {
    const subject =
      application === undefined ? 'without an application' : `by the application ${application}`
    throw new PortError(
      400,
      `${what} may not be used ${subject}; an operator can allow it by secrets.files.rules.`,
    )
  }
  const text = await readBounded(path, keyFile).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof KeyFileError)
      throw new PortError(
        400,
        `${what} is the key file of the secrets, which cannot be read by reference; name another file.`,
      )
    throw new PortError(
      400,
      `${what} cannot be read (${error.code ?? error.message}); check the file in secrets.files.directory.`,
    )
  })
  if (text === '') throw new PortError(400, `${what} is empty; write the value into the file.`)
  return text
}

class KeyFileError extends Error {}

async function readBounded(path: string, keyFile: string): Promise<string> {
  const file = await open(path)
  try {
    const opened = await file.stat({ bigint: true })
    if (!opened.isFile()) throw new Error('it is no file')
    if (isSame(opened, await statOf(keyFile))) throw new KeyFileError()
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0)
    if (bytesRead > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
    return buffer.toString('utf8', 0, bytesRead).replace(/\r?\n$/, '')
  } finally {
    await file.close()
  }
}

/** Links and other spellings lead to the same file. */
function isSame(one: BigIntStats, other: BigIntStats | undefined): boolean {
  return one.dev === other?.dev && one.ino === other.ino
}

/** @returns undefined where there is none */
async function statOf(path: string): Promise<BigIntStats | undefined> {
  return stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
}
