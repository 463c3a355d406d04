/** Tables of numbered promises: their last column names the tests whose titles carry the number. */
import { globSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Test files, relative to `test/` and without extension, by `area number`. */
export type ScenarioTests = ReadonlyMap<string, readonly string[]>

/** Titles carry `1`, `1, 2`, `1 and 2`, `1 to 3`, or `${scenario}` with the numbers at the start of the rows of a table. */
export function readScenarioTests(): ScenarioTests {
  const found = new Map<string, string[]>()
  for (const file of globSync('test/**/*.test.ts', { cwd: root }).sort()) {
    const text = read(file)
    for (const [, area, written] of text.matchAll(
      /\b([a-z]+)-scenarios? (?:((?:\d+(?:, | and | to )?)+)|\$\{scenario\})/g,
    )) {
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
  return [...text.matchAll(/for \(const \[\s*scenario\b[^;]*?\] of (\w+|\[)/g)].flatMap(
    ({ 1: table, index }) => {
      const start = table === '[' ? index : text.indexOf('= [\n', text.indexOf(`const ${table}:`))
      const rows = text.slice(start, text.indexOf('\n]', start))
      return [...rows.matchAll(/^ {2}\[\s*(\d+),/gm)].map(([, number]) => Number(number))
    },
  )
}

/** Area of a page, as titles have it: `objects` of `kubernetes-objects.md`. */
export function areaOf(page: string): string {
  return basename(page, '.md').split('-').at(-1) ?? ''
}

/** Every page with its last column as the tests have it. Promises, and reasons why a number has no test, are written by hand. */
export function printScenarios(): { file: string; text: string }[] {
  const tests = readScenarioTests()
  return globSync('docs/contracts/scenarios/*.md', { cwd: root })
    .sort()
    .map((file) => ({
      file,
      text: read(file).replaceAll(
        /^(\| (\d+) \| .+ \| )(.+) \|$/gm,
        (_row, start: string, number: string, cell: string) => {
          const files = tests.get(`${areaOf(file)} ${number}`)?.join(', ')
          return `${start}${files ?? (cell.startsWith('none: ') ? cell : 'none: to be explained')} |`
        },
      ),
    }))
}
