/** The contracts agree with the tests and the code: numbered promises have their tests, and citations lead to a heading. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** `area number` of a scenario, and the test files that carry it, as the tables name them. */
type Coverage = ReadonlyMap<string, readonly string[]>

/** Rows of the tables: files, or none where the row gives a reason instead. */
function readTables(): Coverage {
  const rows = globSync('docs/contracts/scenarios/*.md', { cwd: root }).flatMap((file) =>
    [...read(file).matchAll(/^\| (\d+) \| .+ \| (.+) \|$/gm)].map(([, number, cell = '']): [string, string[]] => [
      `${basename(file, '.md')} ${number}`,
      cell.startsWith('none: ') ? [] : cell.split(', '),
    ]),
  )
  assert.equal(new Set(rows.map(([key]) => key)).size, rows.length, 'each number has one row')
  return new Map(rows)
}

/** Titles carry `1`, `1, 2`, `1 and 2`, `1 to 3`, or `${scenario}` with the numbers at the start of the rows of a table. */
function readTitles(): Coverage {
  const found = new Map<string, string[]>()
  for (const file of globSync('test/**/*.test.ts', { cwd: root }).sort()) {
    const text = read(file)
    for (const [, area, written] of text.matchAll(/\b([a-z]+)-scenarios? (?:((?:\d+(?:, | and | to )?)+)|\$\{scenario\})/g)) {
      for (const number of written === undefined ? rowNumbers(text) : numbersIn(written)) {
        const files = found.getOrInsert(`${area} ${number}`, [])
        const name = file.slice('test/'.length, -'.test.ts'.length)
        if (!files.includes(name)) files.push(name)
      }
    }
  }
  return found
}

function numbersIn(written: string): number[] {
  return [...written.matchAll(/(\d+)(?: to (\d+))?/g)].flatMap(([, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => Number(first) + index),
  )
}

/** The numbers of the tables over which `for (const [scenario, …] of …)` goes. */
function rowNumbers(text: string): number[] {
  return [...text.matchAll(/for \(const \[scenario\b.* of (\w+|\[)/g)].flatMap(({ 1: table, index }) => {
    const start = table === '[' ? index : text.indexOf(`const ${table}:`)
    const rows = text.slice(start, text.indexOf('\n]', start))
    return [...rows.matchAll(/^ {2}\[\s*(\d+),/gm)].map(([, number]) => Number(number))
  })
}

test('scenario tables name the tests that carry a number', () => {
  const tables = readTables()
  const titles = readTitles()
  assert.ok(titles.size > 500, 'the titles of test/ are read')
  for (const [key, files] of titles) {
    const [area, number] = key.split(' ')
    assert.ok(tables.has(key), `docs/contracts/scenarios/${area}.md lacks number ${number} of ${files}: add its promise`)
  }
  for (const [key, files] of tables) {
    const [area, number] = key.split(' ')
    const actual = titles.get(key) ?? []
    assert.deepEqual(
      files,
      actual,
      `row ${number} of docs/contracts/scenarios/${area}.md: name the test files that carry the number`,
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
  const anchors = new Map(globSync('docs/**/*.md', { cwd: root }).map((file) => [file, anchorsOf(file)]))
  for (const file of globSync('{src,bin,test,scripts}/**/*.ts', { cwd: root })) {
    for (const [citation, page = '', more = ''] of read(file).matchAll(/\b(docs\/[\w/-]+\.md)((?:#[\w-]+(?:, (?=#))?)*)/g)) {
      assert.ok(anchors.has(page), `${file} cites ${citation}: the page does not exist`)
      for (const [, anchor = ''] of more.matchAll(/#([\w-]+)/g)) {
        assert.ok(anchors.get(page)?.includes(anchor), `${file} cites ${citation}: the page has no heading for #${anchor}`)
      }
    }
  }
})

test('contracts are cited by page and heading', () => {
  for (const file of globSync('{src,bin,scripts,test}/**/*.ts', { cwd: root })) {
    for (const [citation] of read(file).matchAll(/\b(?:contract|conventions),? (?:sections? )?\d[\d.]*/gi)) {
      assert.fail(`${file} cites "${citation}": write docs/contracts/<page>.md#<heading>`)
    }
  }
})

test('links between pages lead to headings', () => {
  for (const file of globSync('{*.md,docs/**/*.md}', { cwd: root })) {
    for (const [, path = '', anchor = ''] of read(file).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)) {
      const page = path === '' ? file : join(file, '..', path)
      if (page.endsWith('.md'))
        assert.ok(anchorsOf(page).includes(anchor), `${file} links to ${page}#${anchor}, which has no heading`)
    }
  }
})
