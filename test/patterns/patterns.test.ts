/** No regular expression of the sources takes more than linear time, whatever a stranger sends. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Backtracking, backtrackingOf } from './backtracking.ts'
import { collectPatterns } from './collect-patterns.ts'

/** Of patterns that are quadratic, and where their input is bounded. */
const bounded: Readonly<Record<string, string>> = {
  '/ey[\\w-]{8,}\\.ey[\\w-]{8,}(?:\\.[\\w-]*)?/g': 'concealSecrets cuts at 2000 characters',
  '/(?<=:\\/\\/)[^\\s/@]+(?=@)/g': 'concealSecrets cuts at 2000 characters',
  '/(\\w+)\\s*=\\s*(?:"([^"]*)"|([^\\s,"]+))/g': 'parseChallenge cuts at 2000 characters',
}

/** Files that compose patterns, and of what. */
const composers: Readonly<Record<string, string>> = {
  'packages/providers/kubernetes/reads/listed-kinds.ts': 'settings, on names of kinds',
  'packages/providers/kubernetes/settings.ts': 'a setting, which is only parsed',
  'packages/base/regex/character-classes.ts': 'the name of a property of Unicode',
  'packages/gateway/http/path-template.ts': 'paths of the API',
  'packages/gateway/login/redirect-target.ts': 'a setting',
  'packages/gateway/login/x509/settings.ts': 'a setting, on an empty text',
  'packages/gateway/login/x509/x509-login.ts': 'a setting; the input is cut at 4096 characters',
  'packages/base/settings/setting.ts': 'settings',
}

const examples: readonly [source: string, flags: string, expected: Backtracking][] = [
  ['a+', '', 'linear'],
  ['^a+b', '', 'linear'],
  ['a+b', 'y', 'linear'],
  ['(?<!a)a+b', '', 'linear'],
  ['a*a*', '', 'linear'],
  ['^(?:a+,)*$', '', 'linear'],
  ['^[A-Za-z0-9+/]+={0,2}$', '', 'linear'],
  ['\\bx\\w*y', '', 'linear'],
  ['".*"', 's', 'linear'],
  ['[?#].*$', 's', 'linear'],
  ['^.*a$', 'm', 'linear'],
  ['a+b', '', 'quadratic'],
  ['a+(?!b)', '', 'quadratic'],
  ['x(?=.*y)', '', 'quadratic'],
  ['(?<=a*)x', '', 'quadratic'],
  ['\\s+$', '', 'quadratic'],
  ['^\\s*(.*?)\\s*$', '', 'quadratic'],
  ['^a*a*$', '', 'quadratic'],
  ['^é+[è-ê]*x', 'i', 'quadratic'],
  ['<!--.*?-->', 's', 'quadratic'],
  ['^(?:a|aa)*$', '', 'exponential'],
  ['^(?:a|b|ab)*$', '', 'exponential'],
  ['(?:a*b*)*c', '', 'exponential'],
  ['^(a+)+$', '', 'exponential'],
  ['^(?:a?)*b', '', 'linear'],
  ['^(a*)*$', '', 'exponential'],
  ['^(?:\\d{2}|\\d)*x', '', 'exponential'],
  ['^(?:a{1,2}){5,}$', '', 'exponential'],
  ['^(?:[\\w]|\\p{L})*!', 'v', 'exponential'],
  // What an escape is, read in two ways.
  ['^(?:[^\\\\]|\\\\(?:[0-9a-f]{2}|.))*;', 's', 'exponential'],
]

for (const [source, flags, expected] of examples) {
  test(`/${source}/${flags} is ${expected}`, () => {
    assert.equal(backtrackingOf(source, flags), expected)
  })
}

const { known, composed } = collectPatterns()

test('every regular expression of the sources is linear', () => {
  assert.ok(known.length > 300, String(known.length))
  const judged = new Map<string, Backtracking>()
  const found: string[] = []
  for (const { place, source, flags } of known) {
    const pattern = `/${source}/${flags}`
    const backtracking = judged.get(pattern) ?? backtrackingOf(source, flags)
    judged.set(pattern, backtracking)
    if (backtracking === 'exponential' || (backtracking === 'quadratic' && !(pattern in bounded))) {
      found.push(`${place} ${backtracking} ${pattern}`)
    }
  }
  assert.deepEqual(found, [])
  assert.deepEqual(
    Object.keys(bounded).filter((pattern) => judged.get(pattern) !== 'quadratic'),
    [],
  )
})

test('composed patterns come from settings or sources', () => {
  assert.deepEqual([...new Set(composed)].sort(), Object.keys(composers).sort())
})
