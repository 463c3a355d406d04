/** Answers of services: their form, told from the first bytes, then unpacked and read. */
import { promisify } from 'node:util'
import { constants, gunzip, gunzipSync } from 'node:zlib'
import { GatewayError } from '@fairlead/base/errors.ts'
import { parseJson } from '@fairlead/base/json/json.ts'
import { parseObject, textsOf } from '@fairlead/base/json/values.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { unreadable } from './upstream-errors.ts'

/**
 * What is expected of a successful answer: JSON of a kind (`null` is of every kind), anything but a page for people, where
 * Fairlead ignores the answer or reads it as text, or anything at all.
 */
export type AnswerForm = JsonForm | { readonly kind: 'no-page' | 'anything' }

interface JsonForm {
  readonly kind: 'json'
  readonly object: boolean
  readonly list: boolean
  readonly mayBeEmpty: boolean
}

export const jsonObject: AnswerForm = { kind: 'json', object: true, list: false, mayBeEmpty: false }
export const jsonList: AnswerForm = { kind: 'json', object: false, list: true, mayBeEmpty: false }
export const objectOrList: AnswerForm = {
  kind: 'json',
  object: true,
  list: true,
  mayBeEmpty: false,
}
export const noPage: AnswerForm = { kind: 'no-page' }

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** `unknown`: more bytes are needed. `null`: the whole answer is that word. */
type FormMatch =
  | { readonly kind: 'fits' }
  | { readonly kind: 'null' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'misfit'; readonly found: string }

const fits: FormMatch = { kind: 'fits' }
const unknown: FormMatch = { kind: 'unknown' }
const openingBrace = 0x7b
const openingBracket = 0x5b
const blanks = /^(?:\ufeff)?[ \t\r\n]*/
const maxHeadBytes = 512

/**
 * Matches an answer by its first bytes. The content type is not believed where the bytes say more: services name JSON in
 * several ways, and a proxy in between may answer with a page under any of them.
 *
 * @param head The first bytes as they came, compressed perhaps.
 * @param isWhole There are no more bytes.
 */
export function matchForm(
  form: AnswerForm,
  headers: AnswerHeaders,
  head: Buffer,
  isWhole: boolean,
): FormMatch {
  const coding = answerCodingOf(headers)
  if (form.kind === 'anything' && coding !== 'gzip') return fits
  if (form.kind === 'json' && coding === undefined) {
    if (head.length === 0 && !isWhole) return unknown
    if ((form.object && head[0] === openingBrace) || (form.list && head[0] === openingBracket))
      return fits
  }
  const text = headOf(coding, head)
  if (text === null) return notPacked
  if (form.kind === 'anything') return fits
  if (text === undefined || (head.length >= maxHeadBytes && text.trim() === ''))
    return matchType(headers)
  const start = text.replace(blanks, '')
  if (form.kind !== 'json')
    return start.startsWith('<') ? page : start !== '' || isWhole ? fits : unknown
  if (start === '') {
    if (!isWhole) return unknown
    return form.mayBeEmpty ? fits : { kind: 'misfit', found: 'nothing' }
  }
  if ((form.object && start[0] === '{') || (form.list && start[0] === '[')) return fits
  if (/^null[ \t\r\n]*$/.test(start)) return { kind: isWhole ? 'null' : 'unknown' }
  if (!isWhole && 'null'.startsWith(start)) return unknown
  return start[0] === '<' ? page : { kind: 'misfit', found: nameOf(start) }
}

/** The same for an answer that was read, and unpacked. @throws {GatewayError} UPSTREAM_UNREADABLE */
function checkForm(form: AnswerForm, service: ServiceName, text: string): void {
  const match = matchForm(
    form,
    {},
    Buffer.from(text.slice(0, maxHeadBytes)),
    text.length <= maxHeadBytes,
  )
  if (match.kind === 'misfit') throw misfit(form, service, match.found)
}

export function isPage(text: string): boolean {
  return matchForm(noPage, {}, Buffer.from(text.slice(0, maxHeadBytes)), true).kind === 'misfit'
}

export function misfit(form: AnswerForm, service: ServiceName, found: string): GatewayError {
  const advice = `Check services.${service}.baseUrl, and the proxies on the way there.`
  return unreadable(
    service,
    (name) =>
      `${name} answered with ${found} instead of ${formatForm(form)}.${name === service ? ` ${advice}` : ''}`,
  )
}

const page: FormMatch = { kind: 'misfit', found: 'a page of HTML' }
const notPacked: FormMatch = {
  kind: 'misfit',
  found: 'a body that is not compressed as its headers say',
}

function matchType(headers: AnswerHeaders): FormMatch {
  return /^text\/html\b/i.test(String(headers['content-type'] ?? '')) ? page : fits
}

/** The beginning of the answer as text; undefined when it is packed in a way that cannot be undone here, null when it is not even that. */
function headOf(coding: string | undefined, head: Buffer): string | null | undefined {
  const bytes = head.subarray(0, maxHeadBytes)
  if (coding === undefined) return bytes.toString('utf8')
  if (coding !== 'gzip') return undefined
  try {
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString('utf8')
  } catch {
    return null
  }
}

function nameOf(start: string): string {
  if (start[0] === '{') return 'a JSON object'
  if (start[0] === '[') return 'a JSON list'
  return /^["\d-]/.test(start) ? 'a single JSON value' : 'something that is not JSON'
}

function formatForm(form: AnswerForm): string {
  if (form.kind !== 'json') return 'its own answer'
  if (form.object && form.list) return 'JSON'
  return form.object ? 'a JSON object' : 'a JSON list'
}

export interface UpstreamAnswer {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  text: string
  /** Users know nothing of the service. */
  speaksForFairlead?: boolean
}

/**
 * The JSON of a successful answer; undefined when it is empty.
 *
 * @param form Required form of an answer that is not parsed.
 * @throws {GatewayError} UPSTREAM_FAILED with the status of the service, UPSTREAM_UNREADABLE
 */
export function readJson(answer: UpstreamAnswer, service: ServiceName, form?: AnswerForm): unknown {
  checkSuccess(answer, service)
  if (form !== undefined && !isEmptyByStatus(answer.status)) checkForm(form, service, answer.text)
  if (answer.text.trim() === '') return undefined
  try {
    return parseJson(answer.text)
  } catch (cause) {
    checkForm(objectOrList, service, answer.text)
    throw new GatewayError(
      'UPSTREAM_UNREADABLE',
      (name) => `${name} answered with something that is not JSON.`,
      {
        upstream: { service, status: answer.status },
        cause,
      },
    )
  }
}

/**
 * For a call whose answer Fairlead ignores or reads as text: a page for people comes from something else than the service.
 *
 * @throws {GatewayError} UPSTREAM_FAILED with the status of the service, UPSTREAM_UNREADABLE
 */
export function checkDone(answer: UpstreamAnswer, service: ServiceName): void {
  checkSuccess(answer, service)
  checkForm(noPage, service, answer.text)
}

export function isEmptyByStatus(status: number): boolean {
  return status === 204 || status === 205
}

function checkSuccess(answer: UpstreamAnswer, service: ServiceName): void {
  const { status } = answer
  if (status >= 400) throw upstreamFailed(service, answer)
  if (status >= 300) {
    throw new GatewayError(
      'UPSTREAM_UNREADABLE',
      (name) => `${name} answered with a redirect, which is not followed.`,
      {
        upstream: { service, status },
      },
    )
  }
}

/**
 * The error of a service as clients of Gate expect it: same status, one line, and what the service said, also when to try again. The message names the
 * service, unless it speaks for Fairlead.
 */
export function upstreamFailed(
  service: ServiceName,
  {
    status,
    text,
    speaksForFairlead = false,
    headers = {},
  }: Omit<UpstreamAnswer, 'headers'> & Partial<UpstreamAnswer>,
): GatewayError {
  if (status >= 600) {
    return unreadable(
      service,
      (name) => `${name} answered with the status ${status}, which HTTP does not have.`,
    )
  }
  if (status === 407) {
    const advice = (name: string) => (name === service ? ` Check services.${service}.baseUrl.` : '')
    return unreadable(
      service,
      (name) => `A proxy on the way to ${name} demands a login of its own.${advice(name)}`,
    )
  }
  const said = parseObject(text)
  const message = typeof said?.['message'] === 'string' ? said['message'] : undefined
  const lines = textsOf(said?.['errors'])
  const told = message ?? (lines.length > 0 ? lines.join('; ') : undefined)
  return new GatewayError(
    'UPSTREAM_FAILED',
    speaksForFairlead
      ? (told ?? describeStatus(status))
      : `${service} answered ${status}${told === undefined ? '.' : `: ${told}`}`,
    {
      status,
      upstream: { service, status },
      ...(typeof headers['retry-after'] === 'string' && {
        headers: { 'retry-after': headers['retry-after'] },
      }),
      ...(lines.length > 0 && { fields: { errors: lines } }),
    },
  )
}

function describeStatus(status: number): string {
  return `The request failed with status ${status}${status < 500 ? '.' : '; the log has the reason.'}`
}

type CodedHeaders = Readonly<Record<string, string | string[] | undefined>>

const gunzipAside: (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer> =
  promisify(gunzip)
/** Compressed bytes may stand for a thousand times as many. */
export const maxQuickUnpackBytes = 4096
const maxErrorTextBytes = 1024 * 1024

export function answerCodingOf({ 'content-encoding': header }: CodedHeaders): string | undefined {
  if (header === undefined || header === 'identity') return undefined
  if (header === 'gzip') return 'gzip'
  const coding = String(header).trim().toLowerCase()
  if (coding === '' || coding === 'identity') return undefined
  return coding === 'x-gzip' ? 'gzip' : coding
}

export async function unpack(
  service: ServiceName,
  body: Buffer,
  maxBytes: number,
): Promise<Buffer> {
  if (body.length < maxQuickUnpackBytes) return unpackAtOnce(service, body, maxBytes)
  return gunzipAside(body, { maxOutputLength: maxBytes }).catch((cause: unknown) => {
    throw cannotUnpack(service, cause, maxBytes)
  })
}

export function unpackAtOnce(service: ServiceName, body: Buffer, maxBytes: number): Buffer {
  try {
    return gunzipSync(body, { maxOutputLength: maxBytes })
  } catch (cause) {
    throw cannotUnpack(service, cause, maxBytes)
  }
}

function cannotUnpack(service: ServiceName, cause: unknown, maxBytes: number): GatewayError {
  if ((cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE')
    return answerTooLarge(service, maxBytes)
  return unreadable(
    service,
    (name) => `${name} sent a compressed answer that cannot be unpacked.`,
    cause,
  )
}

/** What an error says; empty when it cannot be read, as its status counts in any case. */
export function textOfError(headers: CodedHeaders, body: Buffer): string {
  if (answerCodingOf(headers) !== 'gzip' || body.length === 0) return body.toString('utf8')
  try {
    return gunzipSync(body, { maxOutputLength: maxErrorTextBytes }).toString('utf8')
  } catch {
    return ''
  }
}

export function answerTooLarge(service: ServiceName, maxBytes: number): GatewayError {
  return unreadable(service, (name) => `The answer of ${name} is larger than ${maxBytes} bytes.`)
}
