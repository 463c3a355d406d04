/** Signatures of requests to AWS, and to stores that are compatible with S3. */
import { createHmac, hash } from 'node:crypto'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

interface Signing {
  /** Its path is encoded as it is sent. */
  readonly url: URL
  readonly service: string
  readonly region: string
  /** Empty for a GET. */
  readonly body: string
  readonly credentials: AwsCredentials
  readonly now: Date
  /** Further headers to sign, with lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * The headers with the signature of version 4.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function signAws({
  url,
  service,
  region,
  body,
  credentials,
  now,
  headers = {},
}: Signing): Record<string, string> {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const time = now.toISOString().replaceAll(/[:-]|\.\d+/g, '')
  const day = time.slice(0, 8)
  const signed: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': sha256(body),
    'x-amz-date': time,
    ...(sessionToken ? { 'x-amz-security-token': sessionToken } : {}),
  }
  const names = Object.keys(signed).sort()
  const lines = names.map((name) => `${name}:${signed[name]}\n`).join('')
  const method = body === '' ? 'GET' : 'POST'
  const request = [
    method,
    url.pathname,
    canonicalQuery(url),
    lines,
    names.join(';'),
    sha256(body),
  ].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n')
  const key = [day, region, service, 'aws4_request'].reduce<Buffer>(
    hmac,
    Buffer.from(`AWS4${secretAccessKey}`),
  )
  const signature = hmac(key, text).toString('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return { ...signed, authorization }
}

/** Everything is encoded but letters, digits, hyphen, dot, underscore and tilde. */
export function encodeForAws(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function canonicalQuery({ searchParams }: URL): string {
  const pairs = [...searchParams].map(
    ([name, value]) => `${encodeForAws(name)}=${encodeForAws(value)}`,
  )
  return pairs.sort().join('&')
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
