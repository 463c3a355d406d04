/** Forms in which programs print the value of a secret. */
import { encodeValue } from '@fairlead/base/net/encode-path.ts'
import { isRecognisable } from './secret-names.ts'

/** A shorter line of a longer value is found in too many other texts. */
const minLineLength = 16

/** A shorter part of base64 is found in too many other texts. */
const minBase64Length = 8

/** The value itself, in base64, in addresses, in JSON, and its long lines; only what can be searched for. */
export function maskFormsOf(value: string): string[] {
  const base64 = [Buffer.from(value).toString('base64'), ...base64PartsOf(value)]
  const lines = value.split(/\r?\n/)
  const forms = [
    value,
    value.trim(),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')),
    encodeURIComponent(value.toWellFormed()),
    encodeValue(value),
    new URLSearchParams({ v: value }).toString().slice('v='.length),
    JSON.stringify(value).slice(1, -1),
    ...(lines.length > 1
      ? lines.map((line) => line.trim()).filter((line) => line.length >= minLineLength)
      : []),
  ]
  return isRecognisable(value) ? [...new Set(forms)].filter(isRecognisable) : []
}

/** What base64 of a longer text has of it, such as `user:password` or the output of `echo`, at each of three places. */
function base64PartsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const parts = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
  })
  return parts.filter((part) => part.length >= minBase64Length)
}

export function allMaskFormsOf(values: Iterable<string>): readonly string[] {
  return longestFirst([...values].flatMap(maskFormsOf))
}

/** Each once, in the order in which they are searched for. */
export function longestFirst(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort((one, other) => other.length - one.length)
}
