/** Verdicts and places are those of java.util.regex (Java 17). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  createRegexMeter,
  findRegexProblem,
  matchesWhole,
  occursIn,
  replaceMatches,
  splitAt,
} from '../../../packages/base/regex/bounded-regex.ts'
import { Meter } from '../../../packages/base/regex/meter.ts'

const long = 'a'.repeat(10_000)
const patterns: [pattern: string, text: string, whole: boolean, anywhere: boolean][] = [
  ['main', 'main', true, true],
  ['main', 'a main b', false, true],
  ['a.*', 'ab', true, true],
  ['a|b', 'ab', false, true],
  ['[a-c]{2,3}\\d?', 'abc1', true, true],
  ['[^a-c]+', 'xyz', true, true],
  ['\\w+@\\w+\\.com', 'me@here.com', true, true],
  ['v\\d+\\.\\d+(-rc)?', 'v1.20-rc', true, true],
  ['\\Qa.b\\E', 'a.b', true, true],
  ['\\Qa.b\\E', 'axb', false, false],
  ['\\Qab\\E+', 'abb', true, true],
  ['\\p{Lu}\\p{L}*', 'Émile', true, true],
  ['^x$', 'x', true, true],
  ['(a+)+b', long, false, false],
  ['(a+)+N$', long, false, false],
  ['(a?){50}a{50}', 'a'.repeat(50), true, true],
  // Line ends: `$` holds before the last one, and a dot is none of them.
  ['main$', 'main\n', false, true],
  ['main$', 'main\r\n', false, true],
  ['main\\z', 'main\n', false, false],
  ['a.b', 'a\nb', false, false],
  ['a.b', 'a\u2028b', false, false],
  ['(?s)a.b', 'a\nb', true, true],
  ['^b', 'a\nb', false, false],
  ['(?m)^b', 'a\nb', false, true],
  ['(?m)^$', 'a\r\n', false, false],
  ['a\\Rb', 'a\r\nb', true, true],
  // Flags hold to the end of their group; only ASCII has case, unless `u` says otherwise.
  ['(?i)ABC', 'abc', true, true],
  ['(?i)É', 'é', false, false],
  ['(?iu)É', 'é', true, true],
  ['a(?i:b)c', 'aBc', true, true],
  ['a(?i:b)c', 'aBC', false, false],
  ['(?i)a(?-i)b', 'AB', false, false],
  ['(?x) a b # both', 'ab', true, true],
  ['(?i)[^a]', 'A', false, false],
  ['(?i)\\p{Lower}', 'A', true, true],
  // Classes: POSIX ones are ASCII, those of Unicode are not.
  ['\\p{Alpha}', 'é', false, false],
  ['(?U)\\p{Alpha}', 'é', true, true],
  ['\\p{IsLatin}\\p{script=Greek}', 'éα', true, true],
  ['[a-z&&[^aeiou]]+', 'xyz', true, true],
  ['[a-z&&[^aeiou]]+', 'a', false, false],
  ['[]a]+', ']a', true, true],
  ['[\\w.-]+', 'a.b-c', true, true],
  ['\\d', '٣', false, false],
  ['\\bé\\b', 'é', true, true],
  ['🚀{2}', '🚀🚀', true, true],
  ['.', '🚀', true, true],
  ['[^a]', '🚀', true, true],
  ['\\x{1F680}\\uD83D\\uDE80', '🚀🚀', true, true],
  ['\\0101\\x41\\u0041', 'AAA', true, true],
  // Looking around.
  ['(?!latest$).*', 'latest', false, true],
  ['^(?!latest$).*', 'latest', false, false],
  ['^(?!latest$).*', 'v1', true, true],
  ['(?=.*\\d)[a-z0-9]+', 'abc1', true, true],
  ['(?=.*\\d)[a-z0-9]+', 'abc', false, false],
  ['.*(?<!-rc)', 'v1-rc', false, true],
  ['v\\d+(?<!9)', 'v9', false, false],
  ['(?<=🚀)a', '🚀a', false, true],
  ['(?<name>a)b', 'ab', true, true],
]
for (const [pattern, text, whole, anywhere] of patterns) {
  test(`/${pattern}/ on "${text.slice(0, 20)}": whole ${whole}, anywhere ${anywhere}`, () => {
    assert.equal(matchesWhole(pattern, text, createRegexMeter()), whole)
    assert.equal(occursIn(pattern, text, createRegexMeter()), anywhere)
  })
}

test('patterns invalid in Java are malformed, others unsupported', () => {
  const malformed = [
    '(',
    'a)',
    '*a',
    'a**',
    '[b-a]',
    'a{3,1}',
    '\\',
    '[a',
    '{',
    '(?<1>a)',
    '(?<a>b)(?<a>c)',
    '\\y',
    '(?y)a',
  ]
  const unsupported = [
    '(a)\\1',
    '\\k<a>',
    'a*+',
    'a++',
    '(?>a)',
    '\\Ga',
    '\\X',
    '\\p{InGreek}',
    'a{99999}',
    '(a{999}){999}',
  ]
  for (const pattern of malformed)
    assert.equal(findRegexProblem(pattern)?.kind, 'malformed', pattern)
  for (const pattern of [...unsupported, 'a'.repeat(2000).concat('.')]) {
    assert.equal(findRegexProblem(pattern)?.kind, 'unsupported', pattern.slice(0, 20))
    assert.throws(() => matchesWhole(pattern, 'a', createRegexMeter()), { name: 'RegexError' })
  }
  for (const [pattern] of patterns) assert.equal(findRegexProblem(pattern), undefined, pattern)
})

test('texts are split and replaced as Java does', () => {
  const meter = createRegexMeter()
  const replace = (pattern: string, text: string, replacement: string, all = true) =>
    replaceMatches(pattern, text, { replacement, all, longest: 100, meter })
  assert.deepEqual(splitAt(',', 'a,b,,', Infinity, meter), ['a', 'b', '', ''])
  assert.deepEqual(splitAt('', 'a🚀c', Infinity, meter), ['a', '🚀', 'c'])
  assert.deepEqual(splitAt('\\s+', 'a  b c', 2, meter), ['a', 'b c'])
  assert.equal(replace('(a)(b)', 'xabab', '$2$1'), 'xbaba')
  assert.equal(replace('b', 'abab', '\\$', false), 'a$ab')
  assert.equal(replace('🚀*', 'x🚀y', '-'), '-x--y-')
  assert.equal(replace('(?<=a)b(?!c)', 'abc ab', '.'), 'abc a.')
  assert.throws(() => replace('', 'a'.repeat(20), 'long one '), /more than 100 characters/)
})

test('patterns that share a meter share its limit', () => {
  const meter = new Meter(100_000, () => new Error('over'))
  const match = () => matchesWhole('(a+)+N$', long, meter)
  assert.equal(match(), false)
  assert.ok(meter.spent > long.length / 4, String(meter.spent))
  assert.throws(() => {
    for (let count = 0; count < 100; count++) match()
  }, /over/)
  for (const greedy of [
    '(?<=a{0,1000}x)b',
    '(?=(?=(?=.*)*)*)*x',
    '(a|b|c|d|e|f){1,500}z',
    '(?:a?){900}z',
  ]) {
    assert.throws(
      () => occursIn(greedy, long.repeat(100), new Meter(40_000, () => new Error('over'))),
      /over/,
      greedy,
    )
  }
})

test('patterns are refused by their size with all repetitions', () => {
  const nested = '(?:(?:(?:){1000}){1000}){1000}'
  const ahead = '(?=(?:a{1000}){19})'.repeat(100)
  for (const pattern of [nested, ahead])
    assert.match(findRegexProblem(pattern)?.message ?? '', /too large/, pattern.slice(0, 40))
  assert.equal(findRegexProblem('(?:a{1000}){19}'), undefined)
})

test('compiled patterns are kept within some dozen megabytes', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const usedAfter = (work: () => void) => {
    work()
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = usedAfter(() => {})

  const after = usedAfter(() => {
    for (let count = 0; count < 400; count++) findRegexProblem(`(?:a{1000}){19}${count}`)
  })

  assert.ok(after - before < 100_000_000, `${after - before} bytes`)
})
