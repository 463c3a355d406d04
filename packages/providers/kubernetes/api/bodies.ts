/** Bodies of requests and responses of an API server. */
import { parseJson, RawNumber } from '@fairlead/base/json/json.ts'
import { ApiError } from './api-error.ts'

/** For objects that are written back: every digit is kept. @throws {ApiError} */
export function parseExactly(text: string): unknown {
  return parse(() => parseJson(text))
}

const longNumber = /\d{16}/

/** For lists and events, of which one strange object must not hide the others; keys of any name are kept. @throws {ApiError} */
export function parseLoosely(text: string): unknown {
  return parse(() => (longNumber.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)))
}

function parse(read: () => unknown): unknown {
  try {
    return read()
  } catch (cause) {
    const reason =
      cause instanceof SyntaxError ? 'it is no JSON; check whether its address leads to an API server' : (cause as Error).message
    throw new ApiError(`The response of the API server cannot be read: ${reason}`, { status: 502, cause })
  }
}

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || context?.source === undefined) return value
  return /^-?\d+$/.test(context.source) ? new RawNumber(context.source) : value
}
