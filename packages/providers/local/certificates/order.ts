/** One order of a certificate: placed, proven, finalized, fetched. After a crash it continues where it was. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import { formatJson } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import type { FastifyBaseLogger } from 'fastify'
import { type AcmeAnswer, type AcmeAuthority, AcmeProblem, toProblem } from './acme-authority.ts'
import { createCertificateRequest, createKey } from './certificate-request.ts'
import type {
  CertificateRecord,
  CertificateStore,
  PlacedOrder,
  ShownProof,
} from './certificate-store.ts'
import { chooseChallenge, clearProof, showProof, toProof } from './challenges.ts'
import type { CertificateFront } from './front.ts'
import { pollPauseMs } from './schedule.ts'
import type { AcmeSettings } from './settings.ts'

export interface OrderParts {
  readonly authority: AcmeAuthority
  readonly store: CertificateStore
  readonly front: CertificateFront
  readonly settings: AcmeSettings
  readonly now: () => number
  readonly log: FastifyBaseLogger
  /** Ends it; what was reached is in the store. */
  readonly signal: AbortSignal
}

interface Issued {
  /** PEM. */
  readonly chain: string
  /** Encrypted. */
  readonly key: string
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** An order that takes longer leaves its place to others, and goes on later. */
const longestMs = 3_600_000

/** The authority does not know the order any more, or it has become invalid: it has to be placed anew. */
class OrderLost extends AcmeProblem {}

/**
 * @param replaces Identifier of the certificate that the new one replaces
 * @returns the URL of the order and its key, to be stored before anything else happens
 * @throws {AcmeProblem}
 */
export async function placeOrder(
  hosts: readonly string[],
  { authority, store, settings }: OrderParts,
  replaces?: string,
): Promise<PlacedOrder> {
  const { newOrder } = await authority.directory()
  const { profile, directory } = settings
  const key = store.seal(createKey())
  const { url } = await authority.post(newOrder, {
    identifiers: hosts.map((value) => ({ type: 'dns', value })),
    ...(profile !== undefined && { profile }),
    ...(replaces !== undefined && { replaces }),
  })
  return { url, key, directory, proofs: [] }
}

/** Follows a placed order to its end. @throws {AcmeProblem}; AbortError of the signal */
export async function followOrder(id: string, parts: OrderParts): Promise<Issued> {
  try {
    return await new RunningOrder(id, parts).toEnd()
  } finally {
    if (!parts.signal.aborted) await clearProofs(id, parts)
  }
}

/** Also those of before a crash. Whatever becomes of them, the order has ended. */
export async function clearProofs(
  id: string,
  parts: Pick<OrderParts, 'store' | 'front' | 'settings' | 'log'>,
): Promise<void> {
  const { store, log } = parts
  const record = store.get(id)
  if (record?.order === undefined || record.order.proofs.length === 0) return
  store.put([{ ...record, order: { ...record.order, proofs: [] } }])
  for (const proof of record.order.proofs) {
    try {
      await clearProof(proof, parts)
    } catch (error) {
      log.warn({ problem: (error as Error).message }, 'a TXT record could not be cleared')
    }
  }
}

class RunningOrder {
  readonly #id: string
  readonly #parts: OrderParts
  readonly #order: PlacedOrder
  readonly #record: CertificateRecord

  constructor(id: string, parts: OrderParts) {
    const record = parts.store.get(id)
    if (record?.order === undefined) throw new Error(`The record ${id} has no order.`)
    this.#id = id
    this.#parts = parts
    this.#record = record
    this.#order = record.order
  }

  async toEnd(): Promise<Issued> {
    const { authority, now } = this.#parts
    const endMs = now() + longestMs
    let lastStatus: unknown
    for (let polls = 0; ; polls++) {
      if (now() > endMs)
        throw new AcmeProblem('The authority has not ended the order within an hour.', {
          type: 'slow',
        })
      const answer = await this.#read(this.#order.url)
      const { status, finalize, certificate, authorizations, error } = answer.body
      if (status === 'valid') return this.#fetch(String(certificate))
      if (status === 'invalid')
        throw isObject(error)
          ? toProblem(error, { status: 0 })
          : new OrderLost('The authority has ended the order as invalid, without a reason.')
      // What has not changed since is looked at again later, whatever the state.
      if (polls > 0 && status === lastStatus) await this.#wait(polls, answer)
      lastStatus = status
      if (status === 'pending') await this.#prove(authorizations)
      else if (status === 'ready') {
        const key = createPrivateKey(this.#parts.store.unseal(this.#order.key))
        const request = await createCertificateRequest(this.#record.hosts, key)
        await authority.post(String(finalize), { csr: request.toString('base64url') })
      }
    }
  }

  async #prove(authorizations: unknown): Promise<void> {
    const urls = Array.isArray(authorizations) ? authorizations.map(String) : []
    const results = await Promise.allSettled(urls.map((url) => this.#authorize(url)))
    const failed = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason] : [],
    )
    const problems = failed.filter((reason) => reason instanceof AcmeProblem)
    const other = failed.find((reason) => !(reason instanceof AcmeProblem))
    if (other !== undefined) throw other
    const [first] = problems
    if (first === undefined) return
    throw new AcmeProblem(problems.map(({ message }) => message).join(' '), {
      ...first,
      hosts: problems.flatMap(({ hosts }) => hosts),
    })
  }

  /** One host. It may be valid already, or the challenge answered before a crash. */
  async #authorize(url: string): Promise<void> {
    const { authority, settings } = this.#parts
    let answer = await this.#read(url)
    const host = String((answer.body['identifier'] as JsonObject)['value'])
    if (answer.body['status'] === 'pending') {
      const { failures } = this.#record
      const challenge = chooseChallenge(answer.body, { ...settings, failures })
      const keyAuthorization = await authority.keyAuthorization(challenge.token)
      const proof = toProof(host, challenge, keyAuthorization)
      this.#note(proof)
      await showProof(proof, keyAuthorization, this.#parts)
      if (!challenge.isAnswered) await authority.post(challenge.url, {})
    }
    for (let polls = 0; ; polls++) {
      const { status } = answer.body
      if (status === 'valid') return
      if (status !== 'pending') throw toHostProblem(host, answer.body)
      await this.#wait(polls, answer)
      answer = await this.#read(url)
    }
  }

  #note(proof: ShownProof): void {
    const { store } = this.#parts
    const record = store.get(this.#id)
    if (record?.order === undefined) return
    const others = record.order.proofs.filter((each) => formatJson(each) !== formatJson(proof))
    store.put([{ ...record, order: { ...record.order, proofs: [...others, proof] } }])
  }

  async #read(url: string): Promise<AcmeAnswer> {
    try {
      return await this.#parts.authority.post(url)
    } catch (error) {
      const isLost = error instanceof AcmeProblem && [400, 401, 403, 404].includes(error.status)
      if (!isLost) throw error
      throw new OrderLost(error.message, error)
    }
  }

  async #fetch(url: string): Promise<Issued> {
    const { text: chain } = await this.#read(url)
    const { key } = this.#order
    try {
      createSecureContext({ cert: chain, key: this.#parts.store.unseal(key) })
    } catch (error) {
      throw new OrderLost(
        `What the authority has issued is no certificate of the order’s key: ${(error as Error).message}`,
      )
    }
    const { validFromDate, validToDate } = new X509Certificate(chain)
    return { chain, key, notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime() }
  }

  async #wait(polls: number, { retryAtMs }: AcmeAnswer): Promise<void> {
    const { now, signal } = this.#parts
    await pause(pollPauseMs(polls, now(), retryAtMs), undefined, { signal })
  }
}

/** The reason stands with the challenge that has failed. */
function toHostProblem(host: string, authorization: JsonObject): AcmeProblem {
  const challenges = Array.isArray(authorization['challenges']) ? authorization['challenges'] : []
  const failed = challenges.filter(isObject).find(({ error }) => isObject(error))
  const problem = toProblem((failed?.['error'] ?? {}) as JsonObject, { status: 0 })
  return new AcmeProblem(
    `${host}: the challenge ${String(failed?.['type'] ?? '')} has failed. ${problem.message}`,
    { type: 'validation', hosts: [host] },
  )
}
