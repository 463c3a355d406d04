/** Proofs of senders of webhooks: signatures over the body, and tokens. @see docs/contracts/events.md#git */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import type { Event } from '../event.ts'

/**
 * Either the trigger has a secret and the sender proves that it knows it, or neither is the case; else what is wrong, as a
 * sentence. All that the sender sends must be right: hosts sign in several ways, for older receivers.
 */
export function describeBadSignature(trigger: JsonObject, event: Event): string | undefined {
  const secret = textOf(trigger['secret']) ?? event.commonSecret?.()
  const proofs = proofsOf(event)
  if (secret === undefined)
    return proofs.length === 0
      ? undefined
      : 'The sender signs, and the trigger has no secret. Set the same secret in the trigger.'
  if (proofs.length === 0)
    return 'The trigger has a secret, and the sender does not sign. Set the same secret at the sender.'
  if (proofs.every((isRight) => isRight(secret))) return undefined
  return 'The signature is wrong. Set the same secret at the sender and in the trigger.'
}

/** Whether the sender claims to know a secret. */
export function isSigned(event: Event): boolean {
  return proofsOf(event).length > 0
}

/** Whether one of the things that a sender sends is made with a secret. */
type Proof = (secret: string) => boolean

/** What a signature with a time may be too old or too new by. */
const maxClockDifferenceMs = 5 * 60_000

/** Headers with the algorithm before the signature: GitHub, Bitbucket, Gitea. */
const namedHeaders = ['x-hub-signature-256', 'x-hub-signature']
/** SHA-256 in hexadecimal digits alone. */
const plainHeaders = ['x-gitea-signature', 'x-forgejo-signature', 'x-gogs-signature']

function proofsOf(event: Event): Proof[] {
  return [
    ...namedHeaders.flatMap((name) => namedProof(event, event.headers[name])),
    ...plainHeaders.flatMap((name) => plainProof(event, event.headers[name])),
    ...standardProof(event),
    ...tokenProof(event),
  ]
}

/** Without a secret Gitea sends the algorithm alone, which proves nothing. */
function namedProof(event: Event, given = ''): Proof[] {
  if (given === '' || /^sha(?:1|256)=$/.test(given)) return []
  const algorithm = /^(sha1|sha256)=/.exec(given)?.[1]
  return [
    (secret) =>
      algorithm !== undefined && isEqual(given, `${algorithm}=${hexOf(algorithm, secret, event)}`),
  ]
}

function plainProof(event: Event, given = ''): Proof[] {
  return given === '' ? [] : [(secret) => isEqual(given, hexOf('sha256', secret, event))]
}

/** Signing tokens of GitLab, as Standard Webhooks specifies: `v1,` and the signature in base64, several with blanks between. */
function standardProof({ headers, raw = Buffer.alloc(0), receivedMs = 0 }: Event): Proof[] {
  const given = textOf(headers['webhook-signature'])
  if (given === undefined) return []
  const [id = '', timestamp = ''] = [headers['webhook-id'], headers['webhook-timestamp']]
  const isTimely =
    /^\d{1,12}$/.test(timestamp) &&
    Math.abs(receivedMs - Number(timestamp) * 1000) <= maxClockDifferenceMs
  return [
    (secret) => {
      const signed = createHmac('sha256', keyOf(secret))
        .update(`${id}.${timestamp}.`)
        .update(raw)
        .digest('base64')
      return isTimely && given.split(' ').some((each) => isEqual(each, `v1,${signed}`))
    },
  ]
}

const keyPrefix = 'whsec_'

function keyOf(secret: string): Buffer {
  return secret.startsWith(keyPrefix)
    ? Buffer.from(secret.slice(keyPrefix.length), 'base64')
    : Buffer.from(secret)
}

/** GitLab sends its secret token as it is. Beside it, a signing token is another secret and the better proof. */
function tokenProof({ headers }: Event): Proof[] {
  const token = headers['x-gitlab-token']
  if (token === undefined) return []
  const hasSignature = textOf(headers['webhook-signature']) !== undefined
  return [(secret) => (hasSignature && secret.startsWith(keyPrefix)) || isEqual(token, secret)]
}

function hexOf(algorithm: string, secret: string, { raw = Buffer.alloc(0) }: Event): string {
  return createHmac(algorithm, secret).update(raw).digest('hex')
}

function isEqual(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
