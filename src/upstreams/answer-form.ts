/** Form of a service's response, judged by its first bytes. */
import { constants, gunzipSync } from 'node:zlib'
import type { GatewayError } from '../errors.ts'
import type { ServiceName } from '../services/services.ts'
import { answerCodingOf } from './unpack.ts'
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
export const objectOrList: AnswerForm = { kind: 'json', object: true, list: true, mayBeEmpty: false }
export const noPage: AnswerForm = { kind: 'no-page' }

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** `unknown`: more bytes are needed. `null`: the whole answer is that word. */
type Verdict =
  | { readonly kind: 'fits' }
  | { readonly kind: 'null' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'misfit'; readonly found: string }

const fits: Verdict = { kind: 'fits' }
const unknown: Verdict = { kind: 'unknown' }
const openingBrace = 0x7b
const openingBracket = 0x5b
const blanks = /^(?:\ufeff)?[ \t\r\n]*/
const maxHeadBytes = 512

/**
 * Judges an answer by its first bytes. The content type is not believed where the bytes say more: services name JSON in
 * several ways, and a proxy in between may answer with a page under any of them.
 *
 * @param head The first bytes as they came, compressed perhaps.
 * @param isWhole There are no more bytes.
 */
export function judgeAnswer(form: AnswerForm, headers: AnswerHeaders, head: Buffer, isWhole: boolean): Verdict {
  const coding = answerCodingOf(headers)
  if (form.kind === 'anything' && coding !== 'gzip') return fits
  if (form.kind === 'json' && coding === undefined) {
    if (head.length === 0 && !isWhole) return unknown
    if ((form.object && head[0] === openingBrace) || (form.list && head[0] === openingBracket)) return fits
  }
  const text = headOf(coding, head)
  if (text === null) return notPacked
  if (form.kind === 'anything') return fits
  if (text === undefined || (head.length >= maxHeadBytes && text.trim() === '')) return judgeType(headers)
  const start = text.replace(blanks, '')
  if (form.kind !== 'json') return start.startsWith('<') ? page : start !== '' || isWhole ? fits : unknown
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
export function checkForm(form: AnswerForm, service: ServiceName, text: string): void {
  const verdict = judgeAnswer(form, {}, Buffer.from(text.slice(0, maxHeadBytes)), text.length <= maxHeadBytes)
  if (verdict.kind === 'misfit') throw misfit(form, service, verdict.found)
}

export function isPage(text: string): boolean {
  return judgeAnswer(noPage, {}, Buffer.from(text.slice(0, maxHeadBytes)), true).kind === 'misfit'
}

export function misfit(form: AnswerForm, service: ServiceName, found: string): GatewayError {
  const advice = `Check services.${service}.baseUrl, and the proxies on the way there.`
  return unreadable(
    service,
    (name) => `${name} answered with ${found} instead of ${formatForm(form)}.${name === service ? ` ${advice}` : ''}`,
  )
}

const page: Verdict = { kind: 'misfit', found: 'a page of HTML' }
const notPacked: Verdict = { kind: 'misfit', found: 'a body that is not compressed as its headers say' }

function judgeType(headers: AnswerHeaders): Verdict {
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
