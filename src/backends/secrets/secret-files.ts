/** Secrets in files of a directory, such as credentials of systemd or a mounted Secret of Kubernetes. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { BackendError } from '../backend.ts'
import { matchesRule, type SecretSettings } from './settings.ts'

const maxBytes = 64 * 1024

/**
 * The content without a line break at its end.
 *
 * @param name Checked as a name: it leads to no other directory
 * @throws {BackendError} 400
 */
export async function readSecretFile(
  name: string,
  application: string | undefined,
  { files, keyFile }: Pick<SecretSettings, 'files' | 'keyFile'>,
): Promise<string> {
  const { directory, rules = [] } = files ?? {}
  const what = `secret:file:${name}`
  if (directory === undefined) throw new BackendError(400, `${what} cannot be read: set secrets.files.directory.`)
  const path = join(directory, name)
  const patterns = rules.map(({ applications, names }) => ({ applications, patterns: names }))
  if (path === keyFile || !matchesRule(name, application, patterns)) {
    const subject = application === undefined ? 'without an application' : `by the application ${application}`
    throw new BackendError(400, `${what} may not be used ${subject}; an operator can allow it by secrets.files.rules.`)
  }
  const text = await readBounded(path).catch((error: NodeJS.ErrnoException) => {
    throw new BackendError(
      400,
      `${what} cannot be read (${error.code ?? error.message}); check the file in secrets.files.directory.`,
    )
  })
  if (text === '') throw new BackendError(400, `${what} is empty; write the value into the file.`)
  return text
}

async function readBounded(path: string): Promise<string> {
  const file = await open(path)
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is no file')
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0)
    if (bytesRead > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
    return buffer.toString('utf8', 0, bytesRead).replace(/\r?\n$/, '')
  } finally {
    await file.close()
  }
}
