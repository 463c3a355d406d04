/** JSON whose integers keep all their digits: those that a double cannot hold are bigints, also when they are written again. */

/** Proposal `JSON.parse source text access`, which TypeScript's library lacks. */
const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => unknown }

/** How every `JSON.stringify` writes a bigint; the language throws instead. */
Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  value(this: bigint): unknown {
    return rawJSON === undefined ? Number(this) : rawJSON(String(this))
  },
})

const longDigits = /\d{16}/

/** @throws {SyntaxError} */
export function parseExactly(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined
      ? toExact(context.source, value)
      : value
  // A reviver makes it several times slower.
  return longDigits.test(text) ? JSON.parse(text, revive) : JSON.parse(text)
}

/** A number, or a bigint where the number would have other digits than the text. */
export function toExact(text: string, number: number = Number(text)): number | bigint {
  return !Number.isSafeInteger(number) && /^-?\d+$/.test(text) ? BigInt(text) : number
}
