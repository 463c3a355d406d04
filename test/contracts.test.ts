/** The contracts agree with the tests and the code: numbered promises have their tests, and citations lead to a heading. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { areaOf, readScenarioTests } from '../scripts/scenarios.ts'

const root = resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

test('numbers in titles have promises; untested promises have reasons', () => {
  const rows = globSync('docs/contracts/scenarios/*.md', { cwd: root }).flatMap((file) =>
    [...read(file).matchAll(/^\| (\d+) \| .+ \| (.+) \|$/gm)].map(([, number, tests]) => ({
      key: `${areaOf(file)} ${number}`,
      tests,
    })),
  )
  const keys = new Set(rows.map(({ key }) => key))
  assert.equal(keys.size, rows.length, 'each number has one row')
  for (const { key, tests } of rows)
    assert.notEqual(tests, 'none: to be explained', `why has ${key} no test?`)

  const titles = readScenarioTests()
  assert.ok(titles.size > 500, 'the titles of test/ are read')
  for (const [key, files] of titles) {
    const page = `docs/contracts/scenarios/${key.split(' ')[0]}.md`
    assert.ok(
      keys.has(key),
      `${page} lacks the number of ${key} in ${files}: add its promise, then npm run docs`,
    )
  }
})

/** Anchors of a page, formed as GitHub forms them. */
function anchorsOf(file: string): string[] {
  return [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('cited pages of docs/ exist, with the cited headings', () => {
  const anchors = new Map(
    globSync('docs/**/*.md', { cwd: root }).map((file) => [file, anchorsOf(file)]),
  )
  for (const file of globSync('{src,bin,test,scripts}/**/*.ts', { cwd: root })) {
    for (const [citation, page = '', more = ''] of read(file).matchAll(
      /\b(docs\/[\w/-]+\.md)((?:#[\w-]+(?:, (?=#))?)*)/g,
    )) {
      assert.ok(anchors.has(page), `${file} cites ${citation}: the page does not exist`)
      for (const [, anchor = ''] of more.matchAll(/#([\w-]+)/g)) {
        assert.ok(
          anchors.get(page)?.includes(anchor),
          `${file} cites ${citation}: the page has no heading for #${anchor}`,
        )
      }
    }
  }
})

test('contracts are cited by page and heading', () => {
  for (const file of globSync('{src,bin,scripts,test}/**/*.ts', { cwd: root })) {
    for (const [citation] of read(file).matchAll(
      /\b(?:contract|conventions),? (?:sections? )?\d[\d.]*/gi,
    )) {
      assert.fail(`${file} cites "${citation}": write docs/contracts/<page>.md#<heading>`)
    }
  }
})

test('links between pages lead to headings', () => {
  for (const file of globSync('{*.md,docs/**/*.md}', { cwd: root })) {
    for (const [, path = '', anchor = ''] of read(file).matchAll(
      /\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g,
    )) {
      const page = path === '' ? file : join(file, '..', path)
      if (page.endsWith('.md'))
        assert.ok(
          anchorsOf(page).includes(anchor),
          `${file} links to ${page}#${anchor}, which has no heading`,
        )
    }
  }
})
