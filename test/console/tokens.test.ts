/** How the console looks to everyone: contrast of every pair of colours, a shape for each state, movement only where it is wanted. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { build } from 'esbuild'

const css = readFileSync(
  resolve(import.meta.dirname, '../../console/src/styles/tokens.css'),
  'utf8',
)
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

test('lengths grow with the text size of the reader', () => {
  const folder = resolve(import.meta.dirname, '../../console/src/styles')
  const fixed = globSync('*.css', { cwd: folder }).flatMap((name) =>
    readFileSync(resolve(folder, name), 'utf8')
      .split('\n')
      .filter((line) => [...line.matchAll(/([\d.]+)px/g)].some(([, length]) => Number(length) > 2)),
  )
  assert.deepEqual(fixed, [])
})

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

test('each state has a shape of its own, and a name where no word stands beside it', async () => {
  const root = resolve(import.meta.dirname, '../..')
  const built = await build({
    stdin: {
      contents: `
        export { StatusMark } from './console/src/components/text.tsx'
        export { executionStatus, instanceStatus, waitingForJudgment } from './console/src/model/execution.ts'
      `,
      resolveDir: root,
    },
    bundle: true,
    // The address of the page is read when the module is loaded.
    banner: { js: 'globalThis.document ??= { baseURI: "http://127.0.0.1/console/" }' },
    write: false,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
  })
  const code = Buffer.from(built.outputFiles[0]?.contents ?? []).toString('base64')
  const { StatusMark, executionStatus, instanceStatus, waitingForJudgment } = (await import(
    `data:text/javascript;base64,${code}`
  )) as {
    StatusMark(props: { kind: string; label?: string }): { props: Record<string, unknown> }
    executionStatus(status: string): { kind: string; word: string }
    instanceStatus(health: string): { kind: string; word: string }
    waitingForJudgment: { kind: string; word: string }
  }
  const runs = [
    'SUCCEEDED',
    'RUNNING',
    'TERMINAL',
    'STOPPED',
    'PAUSED',
    'NOT_STARTED',
    'SKIPPED',
    'CANCELED',
    'OTHER',
  ]
  const kinds = [
    ...runs.map(executionStatus),
    instanceStatus('OutOfService'),
    waitingForJudgment,
  ].map(({ kind }) => kind)
  const shapes = kinds.map((kind) =>
    JSON.stringify(StatusMark({ kind }).props['children'], [
      'type',
      'props',
      'children',
      'class',
      'd',
      'cx',
    ]),
  )
  assert.equal(new Set(kinds).size, 11)
  assert.equal(new Set(shapes).size, 11)
  const { props } = StatusMark({ kind: 'failed', label: 'failed' })
  assert.deepEqual([props['role'], props['aria-label']], ['img', 'failed'])
})

test('nothing moves for readers who want no movement', () => {
  const sheets = globSync('console/src/styles/*.css', {
    cwd: resolve(import.meta.dirname, '../..'),
  })
  const styles = sheets
    .map((file) => readFileSync(resolve(import.meta.dirname, '../..', file), 'utf8'))
    .join('\n')
  const transitions = [...styles.matchAll(/transition:([^;]+);/g)].flatMap(([, value = '']) =>
    value.split(','),
  )
  assert.ok(transitions.length > 0)
  for (const transition of transitions) assert.match(transition, /var\(--quick\)|none/)
  const still = [...styles.matchAll(/@media \(prefers-reduced-motion: reduce\) \{([\s\S]*?)\n\}/g)]
    .map(([, rules]) => rules)
    .join('\n')
  assert.match(still, /--quick: 0ms/)
  const moving = [...styles.matchAll(/\n\s*([^\n{}]+) \{[^{}]*\banimation: (?!none)/g)].map(
    ([, selector = '']) => selector,
  )
  assert.ok(moving.length > 0)
  for (const selector of moving)
    assert.ok(still.includes(`${selector} {`), `${selector} goes on moving`)
})
