/** Forms in which programs print the value of a secret. */
import { encodeValue } from '@fairlead/base/net/encode-path.ts'
import { formsOf } from './masked-forms.ts'
import { isRecognisable } from './secret-names.ts'

/** A shorter line of a longer value is found in too many other texts. */
const minLineLength = 16

/** The value itself, its forms, and its long lines; only what can be searched for. */
export function maskFormsOf(value: string): string[] {
  const lines = value.split(/\r?\n/)
  const forms = [
    value,
    value.trim(),
    encodeValue(value),
    ...formsOf(value),
    ...(lines.length > 1
      ? lines.map((line) => line.trim()).filter((line) => line.length >= minLineLength)
      : []),
  ]
  return isRecognisable(value) ? [...new Set(forms)].filter(isRecognisable) : []
}

export function allMaskFormsOf(values: Iterable<string>): readonly string[] {
  return longestFirst([...values].flatMap(maskFormsOf))
}

/** Each once, in the order in which they are searched for. */
export function longestFirst(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort((one, other) => other.length - one.length)
}
