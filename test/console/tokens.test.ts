/** The colours of the console: every pair that carries text or a shape has enough contrast, in both themes. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'

const css = readFileSync(resolve(import.meta.dirname, '../../console/src/styles/tokens.css'), 'utf8')
const states = ['succeeded', 'running', 'failed', 'warning', 'waiting', 'idle']

const light = readTokens(0)
const dark = readTokens(1)

for (const [theme, tokens] of [
  ['light', light],
  ['dark', dark],
] as const) {
  test(`texts of the ${theme} theme reach 4.5:1`, () => {
    const pairs = [
      ...['bg', 'surface', 'sunken'].flatMap((ground) => [
        ['text', ground],
        ['muted', ground],
      ]),
      ['accent', 'bg'],
      ['accent', 'surface'],
      ['on-accent', 'accent'],
      ['bg', 'failed'],
      ['accent', 'running-tint'],
      ...states.flatMap((state) => [
        [state, 'bg'],
        [state, `${state}-tint`],
        ['text', `${state}-tint`],
      ]),
    ]
    for (const [text = '', ground = ''] of pairs) {
      const ratio = contrast(tokens[text] as string, tokens[ground] as string)
      assert.ok(ratio >= 4.5, `${text} on ${ground}: ${ratio.toFixed(2)}`)
    }
  })

  test(`borders of fields in the ${theme} theme reach 3:1`, () => {
    const ratio = contrast(tokens['control'] as string, tokens['bg'] as string)
    assert.ok(ratio >= 3, ratio.toFixed(2))
  })
}

function readTokens(theme: 0 | 1): Record<string, string> {
  const pairs = css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)
  const tokens = Object.fromEntries([...pairs].map(([, name, ...values]) => [name, values[theme]]))
  assert.ok(Object.keys(tokens).length > 15, 'the tokens are read')
  return tokens as Record<string, string>
}

/** @see WCAG 2.2, relative luminance and contrast ratio */
function contrast(one: string, other: string): number {
  const [lighter = 0, darker = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
