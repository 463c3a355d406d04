/** Colours and weights that programs write for terminals, as styles that can be read in both themes. */

/** CSS properties. While codes are read: with both colours, and whether they are swapped. */
type Style = Readonly<Record<string, string | number | undefined>>

const plain: Style = {}

/** The sixteen usual colours. */
const usual =
  '000000 cd3131 0d8c50 a07800 2472c8 bc3fbc 1196b4 8c8c8c 767676 f14c4c 23b464 c8a01e 3b8eea d670d6 29b8db e5e5e5'.split(
    ' ',
  )
const steps = [0, 95, 135, 175, 215, 255]

/** One of 256: the usual ones, a cube of 6 × 6 × 6, and greys. */
function colourOf(index: number) {
  const at = index - 16
  if (at < 0) return `#${usual[index]}`
  const grey = 8 + (index - 232) * 10
  const parts =
    index > 231
      ? [grey, grey, grey]
      : [at / 36, (at / 6) % 6, at % 6].map((step) => steps[Math.floor(step)] ?? 0)
  return `rgb(${parts.join(' ')})`
}

/** What codes set, and take back. @see ECMA-48, section 8.3.117 */
const settings: Readonly<Record<number, Style>> = {
  1: { fontWeight: 600 },
  // More than that would be hard to read.
  2: { color: 'var(--muted)' },
  3: { fontStyle: 'italic' },
  4: { textDecoration: 'underline' },
  7: { inverse: 1 },
  22: { fontWeight: undefined, color: undefined },
  23: { fontStyle: undefined },
  24: { textDecoration: undefined },
  27: { inverse: undefined },
  39: { fore: undefined },
  49: { back: undefined },
}

function applied(before: Style, codes: readonly number[]): Style {
  let state = before
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0
    const [ten, digit] = [Math.floor(code / 10), code % 10]
    const place = { 3: 'fore', 4: 'back', 9: 'fore', 10: 'back' }[ten]
    if (code === 0) state = plain
    else if (place === undefined || digit === 9) state = { ...state, ...settings[code] }
    else if (digit < 8) state = { ...state, [place]: colourOf(digit + (ten > 4 ? 8 : 0)) }
    else {
      const [kind, ...values] = codes.slice(at + 1)
      state = {
        ...state,
        [place]: kind === 5 ? colourOf(values[0] ?? 0) : `rgb(${values.slice(0, 3).join(' ')})`,
      }
      at += kind === 5 ? 2 : 4
    }
  }
  return state
}

/** Colours of texts keep their hue, and become as dark or light as it takes to be read on the ground of output. */
function styleOf({ fore, back, inverse, ...style }: Style): Style {
  const [text, ground] = inverse ? [back, fore ?? 'rgb(128 128 128)'] : [fore, back]
  if (ground !== undefined) return { ...style, background: ground, color: toContrast(ground) }
  if (text === undefined) return style
  return {
    ...style,
    color: `light-dark(oklch(from ${text} min(l, 0.48) c h), oklch(from ${text} max(l, 0.74) c h))`,
  }
}

/** Black or white, whichever can be read on the ground: about its luminance, as browsers compute with colours. */
function toContrast(ground: string | number) {
  const part = 'calc(1e6 * (13100 - 0.2126 * r * r - 0.7152 * g * g - 0.0722 * b * b))'
  return `rgb(from ${ground} ${part} ${part} ${part})`
}

export const esc = String.fromCharCode(27)
/** Styles, and whatever else tells a terminal what to do. */
const sequence = new RegExp(
  `${esc}(?:\\[([\\d;:]*)([A-Za-z])|\\][^\\u0007${esc}]*(?:\\u0007|${esc}\\\\)|[()][A-Z0-9]|[=>])`,
  'g',
)
const controls = /(?![\t\n])\p{Cc}/gu

/** Without what terminals take as orders; other control characters become visible. */
export function toPlain(text: string): string {
  return showControls(text.replace(/\r$/gm, '').replace(sequence, ''))
}

function showControls(text: string) {
  return text.replace(controls, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
  })
}

/** The parts of a line, each in one style; together they are its plain text. */
export function toSpans(line: string) {
  const spans: { readonly text: string; readonly style: Style | undefined }[] = []
  let state = plain
  // Texts and orders in turns; an order is its codes and its letter.
  const parts = line.split(sequence)
  for (let at = 0; at < parts.length; at += 3) {
    const [text = '', codes = '', letter] = parts.slice(at, at + 3)
    if (text !== '')
      spans.push({ text: showControls(text), style: state === plain ? undefined : styleOf(state) })
    if (letter === 'm') state = applied(state, codes.split(/[;:]/).map(Number))
  }
  return spans
}
