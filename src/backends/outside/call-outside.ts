/** Calls to addresses that authors of pipelines choose, within the restrictions of the configuration. */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { isInRanges, toRanges } from '../../network-range.ts'
import { http } from '../../node-http.ts'
import { https } from '../../node-https.ts'
import { readAnswerText } from '../read-answer.ts'
import { createRegexMeter, matchesWhole } from '../regex/bounded-regex.ts'
import type { OutsideSettings } from './settings.ts'

export interface OutsideRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string | undefined
}

export interface OutsideAnswer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly text: string
}

export type OutsideFault =
  /** The restrictions do not allow the address. */
  'forbidden' | 'unknown-host' | 'timeout' | 'failed'

export class OutsideError extends Error {
  override readonly name = 'OutsideError'
  readonly fault: OutsideFault

  constructor(fault: OutsideFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** @throws {OutsideError} */
export type CallOutside = (request: OutsideRequest) => Promise<OutsideAnswer>

const timeoutMs = 20_000
const maxAnswerBytes = 1024 * 1024
const key = 'user-configured-url-restrictions'
const localSuffixes = ['.spinnaker', '.local', '.localdomain', '.internal', '.localhost']

const internalNetworks = {
  localhost: ['127.0.0.0/8', '::1/128', '0.0.0.0/8', '::/128'],
  linkLocal: ['169.254.0.0/16', 'fe80::/10'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7', '64:ff9b::/96'],
} as const

/** Redirects are not followed: their target would be another address. */
export function createOutsideCalls(settings: OutsideSettings): CallOutside {
  const judge = createJudge(settings)
  return async ({ method, url, headers, body }) => {
    const target = judge.checkUrl(url)
    const { protocol } = target
    const options: RequestOptions = {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) },
      lookup: judge.lookup,
      timeout: timeoutMs,
      signal: AbortSignal.timeout(timeoutMs),
      agent: false,
    }
    return new Promise((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException) => reject(toOutsideError(error, target.host))
      const sent = (protocol === 'https:' ? https : http).request(target, options, (answer) => {
        readAnswer(answer).then(resolve, fail)
      })
      sent.on('timeout', () =>
        sent.destroy(new OutsideError('timeout', `${target.host} did not answer within ${timeoutMs / 1000} s.`)),
      )
      sent.on('error', fail)
      sent.end(body)
    })
  }
}

interface Judge {
  /** @throws {OutsideError} forbidden */
  checkUrl(url: string): URL
  /** Refuses addresses after the name is resolved, so that a name cannot stand for an internal one. */
  readonly lookup: LookupFunction
}

function createJudge({ hostNames, schemes, allowed, rejected, rejects }: OutsideSettings): Judge {
  const permitted = toRanges(allowed)
  const barred = toRanges([
    ...rejected,
    ...(rejects.localhost ? internalNetworks.localhost : []),
    ...(rejects.linkLocal ? internalNetworks.linkLocal : []),
    ...(rejects.private ? internalNetworks.private : []),
  ])
  const isForbidden = (address: string): boolean => isInRanges(barred, address) && !isInRanges(permitted, address)

  function checkUrl(text: string): URL {
    if (!URL.canParse(text))
      throw new OutsideError('forbidden', `"${text.slice(0, 200)}" is not an absolute address such as https://ci.example/build.`)
    const url = new URL(text)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (!schemes.includes(url.protocol.slice(0, -1)))
      throw forbidden(url.host, `its scheme is not one of ${schemes.join(', ')}`, 'allowedSchemes')
    if (isIP(host) !== 0) {
      if (isForbidden(host)) throw forbidden(url.host, 'it is internal', 'allowedAddresses')
      if (rejects.verbatim && !isInRanges(permitted, host))
        throw forbidden(url.host, 'it is written as a number', 'rejectVerbatimIps')
      return url
    }
    if (!matchesWhole(hostNames, host, createRegexMeter()))
      throw forbidden(url.host, 'its name is not allowed', 'allowedHostnamesRegex')
    // A dot at the end says that the name is complete.
    const name = host.replace(/\.$/, '')
    const isLocalName = !name.includes('.') || localSuffixes.some((suffix) => name.endsWith(suffix))
    if (isLocalName && rejects.localhost && allowed.length === 0)
      throw forbidden(url.host, 'its name is one of the local network', 'allowedAddresses')
    return url
  }

  const judgedLookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }).then(
      (addresses: LookupAddress[]) => {
        const usable = addresses.filter(({ address }) => !isForbidden(address))
        const [first] = usable
        if (first === undefined) return callback(forbidden(hostname, 'it is internal', 'allowedAddresses'), '', 4)
        if (options.all) callback(null, usable)
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 4),
    )
  }
  return { checkUrl, lookup: judgedLookup }
}

function forbidden(host: string, reason: string, setting: string): OutsideError {
  return new OutsideError('forbidden', `Stages must not call ${host}: ${reason}. An operator can allow it by ${key}.${setting}.`)
}

function toOutsideError(error: NodeJS.ErrnoException, host: string): OutsideError {
  if (error instanceof OutsideError) return error
  if (error.code === 'ENOTFOUND' || error.code === 'EAI_AGAIN')
    return new OutsideError('unknown-host', `The host ${host} is unknown.`)
  if (error.name === 'TimeoutError' || error.name === 'AbortError')
    return new OutsideError('timeout', `${host} did not answer within ${timeoutMs / 1000} s.`)
  return new OutsideError('failed', `${host} cannot be called: ${error.message}`)
}

async function readAnswer(answer: IncomingMessage): Promise<OutsideAnswer> {
  const tooLarge = () => new OutsideError('failed', `The response is larger than ${maxAnswerBytes} bytes.`)
  const text = await readAnswerText(answer, maxAnswerBytes, tooLarge)
  const headers = Object.fromEntries(
    Object.entries(answer.headers).filter(([, value]) => value !== undefined),
  ) as OutsideAnswer['headers']
  return { status: answer.statusCode ?? 0, headers, text }
}
