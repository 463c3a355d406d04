/** Metadata of an identity provider, refreshed in the background. */
import { hash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readAnswerBytes } from '@fairlead/base/net/read-answer.ts'
import { writePrivateFile } from '@fairlead/base/storage/private-files.ts'
import type { FastifyBaseLogger } from 'fastify'
import { showAddress } from '../address-template.ts'
import { type IdentityProvider, parseIdpMetadata, readSigningCertificate } from './idp-metadata.ts'
import { readCertificateFile, readLocation } from './key-store.ts'
import { isAddress, type SamlRegistration } from './settings.ts'

export interface IdentityProviderSource {
  current(): IdentityProvider
  close(): void
}

interface SourceOptions {
  /** Keeps the last good copy of what came from an address, for starts while the address does not answer. */
  dataDir: string
  refreshMs: number
  log: FastifyBaseLogger
}

const timeoutMs = 10_000
const maxBytes = 20 * 1024 * 1024

/** @throws {Error} when there is no usable metadata; the message says why */
export async function openIdentityProviderSource(
  { id, identityProvider }: SamlRegistration,
  options: SourceOptions,
): Promise<IdentityProviderSource> {
  if (identityProvider.kind === 'configured') {
    const configured = toConfigured(identityProvider)
    return { current: () => configured, close: () => {} }
  }
  const { location, entityId } = identityProvider
  const { dataDir, refreshMs, log } = options
  const copy = isAddress(location) ? new MetadataCopy(dataDir, id, location) : undefined
  const read = async () => {
    const text = await readMetadata(location)
    const parsed = parse(text, entityId, location)
    copy?.keep(text)
    return parsed
  }
  const warn = (err: unknown, again: string) =>
    log.warn(
      { err, registration: id },
      `the metadata of the identity provider cannot be read${again}; the last good copy is used`,
    )
  let current = await read().catch((error: unknown) => {
    const kept = copy?.read()
    if (kept === undefined) throw error
    const parsed = parse(kept, entityId, location)
    warn(error, '')
    return parsed
  })
  const refresh = async () => {
    current = await read().catch((error: unknown) => {
      warn(error, ' again')
      return current
    })
  }
  const timer = isInline(location)
    ? undefined
    : setInterval(() => void refresh(), refreshMs).unref()
  return { current: () => current, close: () => clearInterval(timer) }
}

/** Reads it once and keeps nothing. @throws {Error} when there is no usable metadata; the message says why */
export async function loadIdentityProvider({
  identityProvider,
}: SamlRegistration): Promise<IdentityProvider> {
  if (identityProvider.kind === 'configured') return toConfigured(identityProvider)
  const { location, entityId } = identityProvider
  return parse(await readMetadata(location), entityId, location)
}

function toConfigured(
  configured: Extract<SamlRegistration['identityProvider'], { kind: 'configured' }>,
): IdentityProvider {
  const { entityId, url, binding } = configured
  const certificates = configured.certificates.map((location) =>
    readSigningCertificate(readCertificateFile(location)),
  )
  const keys = certificates.map(({ publicKey }) => publicKey)
  return { entityId, signOn: { [binding]: url }, wantsSignedRequests: false, keys, certificates }
}

function parse(text: string, entityId: string | undefined, location: string): IdentityProvider {
  try {
    return parseIdpMetadata(text, entityId)
  } catch (error) {
    throw new Error(
      `the metadata ${describeLocation(location)} cannot be used: ${(error as Error).message}`,
      { cause: error },
    )
  }
}

async function readMetadata(location: string): Promise<string> {
  if (isInline(location)) return location
  if (!isAddress(location)) return readLocation(location).toString()
  let problem: string
  try {
    const answer = await fetch(location, {
      signal: AbortSignal.timeout(timeoutMs),
      headers: { accept: 'application/samlmetadata+xml, */*' },
    })
    const bytes = await readAnswerBytes(
      answer,
      maxBytes,
      () => new Error(`it is larger than ${maxBytes} bytes`),
    )
    if (answer.ok) return bytes.toString('utf8')
    problem = `it answers ${answer.status}`
  } catch (cause) {
    const { code, message } = ((cause as Error).cause ?? cause) as Error & { code?: string }
    problem = code ?? message
  }
  throw new Error(`the metadata ${describeLocation(location)} cannot be fetched: ${problem}`)
}

function isInline(location: string): boolean {
  return location.trimStart().startsWith('<')
}

/** An address may carry a key in its query. */
export function describeLocation(location: string): string {
  if (isInline(location)) return 'in the configuration'
  return isAddress(location) ? `at ${showAddress(location)}` : `in "${location}"`
}

class MetadataCopy {
  readonly #file: string
  #kept: string | undefined

  /** The copy belongs to this address: another one may be another identity provider. */
  constructor(dataDir: string, id: string, location: string) {
    const address = hash('sha256', location).slice(0, 16)
    this.#file = join(dataDir, `saml-metadata-${id}-${address}.xml`)
  }

  keep(text: string): void {
    if (text === this.#kept) return
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 })
    writePrivateFile(this.#file, text)
    this.#kept = text
  }

  read(): string | undefined {
    try {
      return readFileSync(this.#file, 'utf8')
    } catch {
      return undefined
    }
  }
}
