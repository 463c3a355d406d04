/** Names of failed tests, as runners print them. */
import type { Cause } from './cause.ts'
import { numbers } from './tool-rules.ts'

interface TestRow {
  /** Any of them is in a line that the pattern fits; separated by `|`, in lower case. */
  readonly literals: string
  readonly runner: string
  /** The first group is the name. */
  readonly pattern: RegExp
}

export const testRows: readonly TestRow[] = [
  { literals: '● ', runner: 'jest', pattern: /^\s*● ([^›]+ › .+)$/ },
  { literals: ') [', runner: 'playwright', pattern: /^\s*\d+\) \[[\w -]+\] › [^›]+ › (.+)$/ },
  { literals: 'fail |❯ ', runner: 'vitest', pattern: /^\s*(?:FAIL|❯) [^>]+ > (.+)$/ },
  { literals: 'failed |error ', runner: 'pytest', pattern: /^(?:FAILED|ERROR) ([^\s:]+\.py::\S+)/ },
  {
    literals: '___ ',
    runner: 'pytest title',
    pattern: /^_{3,} (?:ERROR (?:at \w+ of|collecting) )?(\S+) _{3,}$/,
  },
  { literals: '--- fail', runner: 'go', pattern: /^\s*--- FAIL: (\S+)/ },
  { literals: '... failed', runner: 'cargo', pattern: /^test (\S+) \.\.\. FAILED/ },
  { literals: 'stdout ----', runner: 'cargo', pattern: /^---- (\S+) stdout ----/ },
  {
    literals: '[error]',
    runner: 'maven',
    pattern: /^\[ERROR\]\s+((?:[\w$]+\.)+[\w$]+)(?::\d+| » )/,
  },
  { literals: ' failed', runner: 'gradle', pattern: /^([^\s>][^>]* > .+) FAILED$/ },
  { literals: 'failed ', runner: 'dotnet', pattern: /^\s*Failed (\S+) \[/ },
  { literals: numbers, runner: 'phpunit', pattern: /^\d+\) (\S+::\S+)/ },
  { literals: 'rspec .', runner: 'rspec', pattern: /^rspec \.\S+ # (.+)$/ },
  { literals: 'fail\t|fail ', runner: 'go package', pattern: /^FAIL\s+(\S+)\s/ },
  { literals: numbers, runner: 'mocha', pattern: /^\s+\d+\) (\S.*)$/ },
  // Of Playwright: sections, and tests that are listed in them.
  { literals: ' flaky|] › ', runner: 'list', pattern: /^(?!)/ },
]
const mochaTitle = /^\s+\d+\) (\S.*)$/
const section = /^\s*\d+ (flaky|failed|passed|skipped|did not run)\b/
const listed = /^\s*\[[\w -]+\] › [^›]+ › (.+)$/

const maxNames = 50
const maxKept = 5_000
const maxTitleLines = 5

export class FailedTests {
  readonly #names = new Map<string, Set<string>>()
  readonly #flaky = new Set<string>()
  /** Failed tests of Go whose package is not known yet: its line follows. */
  #loose: string[] = []
  #titles: string[] | undefined
  #isFlaky = false

  /** A title goes on over lines that have no literal. */
  get isOpen(): boolean {
    return this.#titles !== undefined
  }

  /** @param runners Places of the rows whose literals the line has */
  feed(line: string, runners: readonly number[]): void {
    const [, word] = section.exec(line) ?? []
    if (word !== undefined) this.#isFlaky = word === 'flaky'
    const flaky = this.#isFlaky ? listed.exec(line)?.[1] : undefined
    if (flaky !== undefined) this.#flaky.add(nameOf(flaky))
    if (this.#titles !== undefined) {
      this.#goOn(line)
      return
    }
    const places = runners.length < 2 ? runners : [...new Set(runners)].sort((a, b) => a - b)
    for (const place of places) {
      const { runner, pattern } = testRows[place] as TestRow
      const [, name] = pattern.exec(line) ?? []
      if (name === undefined) continue
      this.#begin(runner, name)
      return
    }
  }

  #begin(runner: string, name: string): void {
    if (runner === 'go') this.#loose.push(name)
    else if (runner === 'go package')
      for (const loose of this.#loose.splice(0)) this.#add('go', `${name}.${loose}`)
    else if (runner === 'mocha') this.#titles = [name]
    else if (runner === 'gradle')
      this.#add(runner, name.replaceAll(' > ', '.').replace(/\(\)$/, ''))
    else this.#add(runner, nameOf(name))
  }

  /** Mocha prints one title in a line, and a colon after the last. */
  #goOn(line: string): void {
    const titles = this.#titles ?? []
    const title = line.trim()
    if (mochaTitle.test(line)) this.#titles = [title.replace(/^\d+\) /, '')]
    else if (title !== '') titles.push(title)
    if (title.endsWith(':') && title !== '') {
      this.#add('mocha', titles.map((each) => each.replace(/:$/, '')).join(' › '))
      this.#titles = undefined
    } else if (title === '' || titles.length > maxTitleLines) this.#titles = undefined
  }

  #add(runner: string, name: string): void {
    const names = this.#names.getOrInsertComputed(runner, () => new Set())
    if (names.size < maxKept) names.add(name)
  }

  result(): Cause['tests'] {
    for (const name of this.#loose.splice(0)) this.#add('go', name)
    if (this.#names.has('pytest')) this.#names.delete('pytest title')
    if (this.#names.size > 1) this.#names.delete('mocha')
    const all = [...this.#names.values()].flatMap((names) => [...names])
    const parents = new Set(
      [...(this.#names.get('go') ?? [])].flatMap((name) =>
        name.includes('/') ? [name.slice(0, name.lastIndexOf('/'))] : [],
      ),
    )
    const names = all.filter((name) => !parents.has(name) && !this.#flaky.has(name))
    return names.length === 0 ? undefined : { count: names.length, names: names.slice(0, maxNames) }
  }
}

function nameOf(written: string): string {
  const name = written.replace(/(?<![\s─])[\s─]+$/, '')
  return name
    .split(/ > | › /)
    .join(' › ')
    .slice(0, 200)
}
