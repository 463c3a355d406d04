/** The certificate of a port, reloaded when its files change; an unusable one changes nothing. */
import { statSync } from 'node:fs'
import { readExplained } from '../storage/file-fault.ts'

export interface CertificateFiles {
  readonly certificateFile: string
  readonly keyFile: string
}

export interface CertificatePair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** @throws {Error} when a file cannot be read, or the key does not belong to the certificate; the message is for people */
export function loadCertificate({ certificateFile, keyFile }: CertificateFiles): CertificatePair {
  const pair = { cert: readExplained(certificateFile), key: readExplained(keyFile) }
  try {
    process.getBuiltinModule('node:tls').createSecureContext(pair)
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new Error(
      `${certificateFile} and ${keyFile} are no certificate with its key: ${message}`,
      { cause },
    )
  }
  return pair
}

/**
 * Reads the files when they have changed and then stayed as they are for one interval: the writer has finished.
 *
 * @param use Gets the new certificate, or why it cannot be used.
 * @returns ends the watch
 */
export function watchCertificate(
  files: CertificateFiles,
  intervalMs: number,
  use: (result: CertificatePair | Error) => void,
): () => void {
  let loaded = stampOf(files)
  let seen = loaded
  const timer = setInterval(() => {
    const stamp = stampOf(files)
    const isSettled = stamp === seen
    seen = stamp
    if (!isSettled || stamp === loaded) return
    loaded = stamp
    try {
      use(loadCertificate(files))
    } catch (error) {
      use(error instanceof Error ? error : new Error(String(error)))
    }
  }, intervalMs).unref()
  return () => clearInterval(timer)
}

function stampOf({ certificateFile, keyFile }: CertificateFiles): string {
  return [certificateFile, keyFile]
    .map((file) => {
      try {
        const { ino, size, mtimeMs } = statSync(file)
        return `${ino} ${size} ${mtimeMs}`
      } catch (error) {
        return (error as NodeJS.ErrnoException).code
      }
    })
    .join(', ')
}
