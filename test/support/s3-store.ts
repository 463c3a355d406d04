/** A store on loopback with the reading part of the S3 protocol: it computes each signature itself. */
import { createHmac, hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface S3Store {
  readonly url: string
  /** By `/bucket/key`, encoded as in requests; with `?versionId=` for a version. */
  readonly objects: Map<string, string>
  /** Checksums that are given out in the place of the right ones. */
  readonly checksums: Map<string, string>
}

interface StoreKey {
  readonly id: string
  readonly secret: string
  readonly region: string
}

export async function startS3Store(t: TestContext, key: StoreKey): Promise<S3Store> {
  const objects = new Map<string, string>()
  const checksums = new Map<string, string>()
  const server = createServer((request, response) => {
    const refusal = refusalOf(request, key)
    const content = objects.get(request.url ?? '')
    if (refusal !== undefined) fail(response, 403, refusal)
    else if (content === undefined) fail(response, 404, 'NoSuchKey')
    else {
      const sum = checksums.get(request.url ?? '') ?? hash('sha256', content, 'base64')
      const isAsked = request.headers['x-amz-checksum-mode'] === 'ENABLED'
      response.writeHead(200, isAsked ? { 'x-amz-checksum-sha256': sum } : {}).end(content)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, objects, checksums }
}

function fail(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, {
    'content-type': 'application/xml',
    'x-amz-bucket-region': 'eu-west-1',
  })
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`)
}

/** @see https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
function refusalOf(
  { method, url = '', headers }: IncomingMessage,
  { id, secret, region }: StoreKey,
): string | undefined {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w+)$/
  const [, keyId, day = '', at, names = '', signature] =
    pattern.exec(headers.authorization ?? '') ?? []
  if (keyId === undefined) return 'AccessDenied'
  if (keyId !== id) return 'InvalidAccessKeyId'
  if (at !== region) return 'AuthorizationHeaderMalformed'
  if (!names.split(';').includes('host') || !names.split(';').includes('x-amz-date'))
    return 'AccessDenied'
  const [path = '', query = ''] = url.split('?')
  const lines = names.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const payload = String(headers['x-amz-content-sha256'])
  const canonical = [
    method,
    path,
    query.split('&').sort().join('&'),
    lines.join(''),
    names,
    payload,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const toSign = `AWS4-HMAC-SHA256\n${String(headers['x-amz-date'])}\n${scope}\n${hash('sha256', canonical, 'hex')}`
  const mac = (key: string | Buffer, text: string) =>
    createHmac('sha256', key).update(text).digest()
  const signing = mac(mac(mac(mac(`AWS4${secret}`, day), region), 's3'), 'aws4_request')
  return mac(signing, toSign).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch'
}
