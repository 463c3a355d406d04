/** Objects of Google Cloud Storage: `gcs!b:bucket!f:path`, as the account of a key file or of the machine. */
import { readFile } from 'node:fs/promises'
import { withoutSlash } from '@fairlead/base/settings/setting.ts'
import type { EnvironmentVariables } from '../environment.ts'
import { callStore, parseStoreAnswer } from './call-store.ts'
import {
  type EngineReference,
  paramOf,
  SecretError,
  type SecretPlaces,
} from './secret-reference.ts'

interface GoogleKeyFile {
  readonly client_email: string
  readonly private_key: string
  readonly token_uri: string
}

const scope = 'https://www.googleapis.com/auth/devstorage.read_only'

/** @throws {SecretError} */
export async function readGcsObject(
  reference: EngineReference,
  { env }: SecretPlaces,
): Promise<Buffer> {
  const bucket = paramOf(reference, 'b', 'bucket')
  const path = paramOf(reference, 'f', 'path of the object')
  const emulator = env['STORAGE_EMULATOR_HOST']
  const endpoint = emulator ? withScheme(emulator) : 'https://storage.googleapis.com'
  const token = await loadToken(env)
  return await callStore({
    name: 'Google Cloud Storage',
    url: new URL(
      `${endpoint}/storage/v1/b/${encodeURIComponent(bucket)}/o/${encodeURIComponent(path)}?alt=media`,
    ),
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    advice: {
      401: 'correct the credentials that GOOGLE_APPLICATION_CREDENTIALS names',
      403: `allow the account storage.objects.get for the bucket "${bucket}"`,
      404: `the bucket "${bucket}" has no such object; correct !b: or !f:`,
    },
  })
}

function withScheme(host: string): string {
  return withoutSlash(/^https?:\/\//.test(host) ? host : `http://${host}`)
}

/** Undefined for an emulator without credentials. */
async function loadToken(env: EnvironmentVariables): Promise<string | undefined> {
  const file = env['GOOGLE_APPLICATION_CREDENTIALS']
  if (file) return await exchangeKey(await readKeyFile(file))
  if (env['STORAGE_EMULATOR_HOST']) return undefined
  const host = env['GCE_METADATA_HOST'] || 'metadata.google.internal'
  const bytes = await callStore({
    name: 'The metadata server',
    url: new URL(`http://${host}/computeMetadata/v1/instance/service-accounts/default/token`),
    headers: { 'metadata-flavor': 'Google' },
    advice: {
      404: 'give the machine or the pod a service account, or set GOOGLE_APPLICATION_CREDENTIALS',
    },
  })
  return parseStoreAnswer<{ access_token: string }>('The metadata server', bytes).access_token
}

async function readKeyFile(file: string): Promise<GoogleKeyFile> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new SecretError(`${file}, which GOOGLE_APPLICATION_CREDENTIALS names, cannot be read`)
  })
  const key = parseStoreAnswer<Partial<GoogleKeyFile>>(file, Buffer.from(text))
  const { client_email, private_key, token_uri } = key
  if (client_email && private_key && token_uri) return { client_email, private_key, token_uri }
  throw new SecretError(
    `${file} is not the key file of a service account; create one, or run as the account of the machine`,
  )
}

/** @see RFC 7523, section 2.1 */
async function exchangeKey({
  client_email,
  private_key,
  token_uri,
}: GoogleKeyFile): Promise<string> {
  const { importPKCS8, SignJWT } = await import('jose')
  const key = await importPKCS8(private_key, 'RS256').catch(() => {
    throw new SecretError(`the key of ${client_email} is damaged; create another key file`)
  })
  const assertion = await new SignJWT({ scope })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(client_email)
    .setAudience(token_uri)
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(key)
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion,
  })
  const refused = `it does not accept the key of ${client_email}; create another, and check the clock of this machine`
  const bytes = await callStore({
    name: 'The token endpoint of Google',
    url: new URL(token_uri),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
    advice: { 400: refused, 401: refused },
  })
  return parseStoreAnswer<{ access_token: string }>('The token endpoint of Google', bytes)
    .access_token
}
