/** Makes self-signed certificates in the test's process, so that no key lies in the repository and none ever expires. */
import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto'

export interface TestKeyPair {
  readonly key: KeyObject
  /** PKCS#8 in PEM. */
  readonly keyPem: string
  /** PEM. */
  readonly certificate: string
  /** DER in base64, as it stands in metadata. */
  readonly base64: string
}

/** Generating takes some 100 ms, so pairs are made once in each process. */
const made = new Map<string, TestKeyPair>()

/** The pair of a name; the same whenever it is asked for. */
export function keyPairOf(name: string, kind: 'rsa' | 'ec' = 'rsa'): TestKeyPair {
  const known = made.get(`${kind} ${name}`)
  if (known !== undefined) return known
  const { publicKey, privateKey } =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const der = toCertificate(name, publicKey, privateKey, kind)
  const pair: TestKeyPair = {
    key: privateKey,
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: new X509Certificate(der).toString(),
    base64: der.toString('base64'),
  }
  made.set(`${kind} ${name}`, pair)
  return pair
}

/** @see RFC 5280, section 4.1; version 1, because nothing here needs an extension */
function toCertificate(
  name: string,
  publicKey: KeyObject,
  privateKey: KeyObject,
  kind: 'rsa' | 'ec',
): Buffer {
  const algorithm =
    kind === 'rsa'
      ? sequence(identifier('2a864886f70d01010b'), Buffer.from([5, 0]))
      : sequence(identifier('2a8648ce3d040302'))
  const distinguished = sequence(
    element(0x31, sequence(identifier('550403'), element(0x0c, Buffer.from(name)))),
  )
  const content = sequence(
    element(0x02, Buffer.from([1])),
    algorithm,
    distinguished,
    sequence(
      element(0x18, Buffer.from('20200101000000Z')),
      element(0x18, Buffer.from('21200101000000Z')),
    ),
    distinguished,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  return sequence(
    content,
    algorithm,
    element(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)])),
  )
}

function sequence(...parts: Buffer[]): Buffer {
  return element(0x30, Buffer.concat(parts))
}

function identifier(hex: string): Buffer {
  return element(0x06, Buffer.from(hex, 'hex'))
}

function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
