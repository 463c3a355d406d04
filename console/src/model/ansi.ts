/** Colours and weights that programs write for terminals, as styles that can be read in both themes. */

type Style = Readonly<Record<string, string | number>>

interface State {
  /** Colours of the text and of its ground, as CSS has them. */
  fore?: string | undefined
  back?: string | undefined
  bold?: boolean
  faint?: boolean
  italic?: boolean
  line?: boolean
  inverse?: boolean
}

/** The sixteen usual colours. */
const usual =
  '000000 cd3131 0d8c50 a07800 2472c8 bc3fbc 1196b4 8c8c8c 767676 f14c4c 23b464 c8a01e 3b8eea d670d6 29b8db e5e5e5'.split(' ')
const steps = [0, 95, 135, 175, 215, 255]

/** One of 256: the usual ones, a cube of 6 × 6 × 6, and greys. */
function colourOf(index: number): string {
  const at = index - 16
  const grey = 8 + (index - 232) * 10
  if (at < 0) return `#${usual[index]}`
  return toRgb(
    index > 231 ? [grey, grey, grey] : [Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map((step) => steps[step] ?? 0),
  )
}

function toRgb(parts: readonly number[]): string {
  return `rgb(${parts.join(' ')})`
}

export const esc = String.fromCharCode(27)
/** Styles, and whatever else tells a terminal what to do. */
const sequence = new RegExp(`${esc}(?:\\[([\\d;:]*)([A-Za-z])|\\][^\\u0007${esc}]*(?:\\u0007|${esc}\\\\)|[()][A-Z0-9]|[=>])`, 'g')
const controls = /(?![\t\n])\p{Cc}/gu

/** Without what terminals take as orders; other control characters become visible. */
export function toPlain(text: string): string {
  return showControls(text.replace(/\r$/gm, '').replace(sequence, ''))
}

function showControls(text: string): string {
  return text.replace(controls, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
  })
}

/** The parts of a line, each in one style; together they are its plain text. */
export function toSpans(line: string) {
  const spans: { readonly text: string; readonly style: Style | undefined }[] = []
  const state: State = {}
  let from = 0
  const add = (text: string) => text !== '' && spans.push({ text: showControls(text), style: styleOf(state) })
  for (const match of line.matchAll(sequence)) {
    add(line.slice(from, match.index))
    from = match.index + match[0].length
    if (match[2] === 'm') apply(state, (match[1] ?? '').split(/[;:]/).map(Number))
  }
  add(line.slice(from))
  return spans
}

const flags: Readonly<Record<number, Partial<State>>> = {
  1: { bold: true },
  2: { faint: true },
  3: { italic: true },
  4: { line: true },
  7: { inverse: true },
  22: { bold: false, faint: false },
  23: { italic: false },
  24: { line: false },
  27: { inverse: false },
  39: { fore: undefined },
  49: { back: undefined },
}

/** @see ECMA-48, section 8.3.117 */
function apply(state: State, codes: readonly number[]): void {
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0
    const place = code >= 40 && code !== 90 && (code < 90 || code >= 100) ? 'back' : 'fore'
    if (code === 0) for (const key of Object.keys(state) as (keyof State)[]) delete state[key]
    else if (code === 38 || code === 48) {
      const [kind, ...values] = codes.slice(at + 1)
      state[place] = kind === 5 ? colourOf(values[0] ?? 0) : toRgb(values.slice(0, 3))
      at += kind === 5 ? 2 : 4
    } else if (flags[code] !== undefined) Object.assign(state, flags[code])
    else if (code >= 90 && code <= 107) state[place] = colourOf((code % 10) + 8)
    else if (code >= 30 && code <= 47) state[place] = colourOf(code % 10)
  }
}

/** Black or white, whichever can be read on the ground: about its luminance, as browsers compute with colours. */
function toContrast(ground: string): string {
  const part = 'calc(1e6 * (13100 - 0.2126 * r * r - 0.7152 * g * g - 0.0722 * b * b))'
  return `rgb(from ${ground} ${part} ${part} ${part})`
}

/** Colours of texts keep their hue, and become as dark or light as it takes to be read on the ground of output. */
function styleOf({ fore, back, bold, faint, italic, line, inverse }: State): Style | undefined {
  const [text, ground] = inverse ? [back, fore ?? 'rgb(128 128 128)'] : [fore, back]
  const legible = `light-dark(oklch(from ${text} min(l, 0.48) c h), oklch(from ${text} max(l, 0.74) c h))`
  const style: Style = {
    // More than that would be hard to read.
    ...(faint && { color: 'var(--muted)' }),
    ...(text !== undefined && { color: legible }),
    ...(ground !== undefined && { background: ground, color: toContrast(ground) }),
    ...(bold && { fontWeight: 600 }),
    ...(italic && { fontStyle: 'italic' }),
    ...(line && { textDecoration: 'underline' }),
  }
  return Object.keys(style).length === 0 ? undefined : style
}
