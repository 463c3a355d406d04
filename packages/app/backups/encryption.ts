/** Encrypts and decrypts backups in the format of age, which the command `age` reads and writes, too. */
import { Readable } from 'node:stream'
import { Decrypter, Encrypter } from 'age-encryption'

/** What encrypts: a passphrase, or public keys such as `age1…`. */
interface Lock {
  readonly passphrase?: string
  readonly recipients?: readonly string[]
}

/** What decrypts: a passphrase, or secret keys such as `AGE-SECRET-KEY-1…`. */
interface Key {
  readonly passphrase?: string
  readonly identities?: readonly string[]
}

const firstLine = Buffer.from('age-encryption.org/')

export function isEncrypted(head: Uint8Array): boolean {
  return firstLine.equals(head.subarray(0, firstLine.length))
}

export function needsPassphrase(head: Uint8Array): boolean {
  return Buffer.from(head).toString('latin1').split('\n')[1]?.startsWith('-> scrypt ') === true
}

export async function encrypt(
  plain: AsyncIterable<Uint8Array>,
  { passphrase, recipients = [] }: Lock,
): Promise<AsyncIterable<Uint8Array>> {
  const encrypter = new Encrypter()
  if (passphrase !== undefined) encrypter.setPassphrase(passphrase)
  for (const recipient of recipients) addRecipient(encrypter, recipient)
  return fromWeb(await encrypter.encrypt(toWeb(plain)))
}

export async function decrypt(
  sealed: AsyncIterable<Uint8Array>,
  { passphrase, identities = [] }: Key,
): Promise<AsyncIterable<Uint8Array>> {
  const decrypter = new Decrypter()
  if (passphrase !== undefined) decrypter.addPassphrase(passphrase)
  for (const identity of identities) addIdentity(decrypter, identity)
  try {
    return fromWeb(await decrypter.decrypt(toWeb(sealed)))
  } catch (cause) {
    const what = passphrase === undefined ? 'The secret key does' : 'The passphrase does'
    throw new Error(
      `${what} not decrypt this backup: ${(cause as Error).message}. Give the one that it was encrypted with.`,
      {
        cause,
      },
    )
  }
}

function addRecipient(encrypter: Encrypter, recipient: string): void {
  try {
    encrypter.addRecipient(recipient)
  } catch (cause) {
    throw new Error(
      `"${recipient.slice(0, 80)}" is no public key of age. "age-keygen" prints one that begins with age1.`,
      {
        cause,
      },
    )
  }
}

function addIdentity(decrypter: Decrypter, identity: string): void {
  try {
    decrypter.addIdentity(identity)
  } catch (cause) {
    throw new Error(
      'The identity file holds a line that is no secret key of age. Name the file that "age-keygen" has written.',
      {
        cause,
      },
    )
  }
}

function toWeb(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  return Readable.toWeb(Readable.from(chunks)) as ReadableStream<Uint8Array>
}

function fromWeb(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  return Readable.fromWeb(stream as Parameters<typeof Readable.fromWeb>[0])
}
