/** Names of failed tests, as runners print them. */
import type { Cause } from './cause.ts'

/** The first group is the name. */
const named: readonly (readonly [runner: string, pattern: RegExp])[] = [
  ['jest', /^\s*● ([^›]+ › .+)$/],
  ['playwright', /^\s*\d+\) \[[\w -]+\] › [^›]+ › (.+)$/],
  ['vitest', /^\s*(?:FAIL|❯) [^>]+ > (.+)$/],
  ['pytest', /^(?:FAILED|ERROR) ([^\s:]+\.py::\S+)/],
  ['pytest title', /^_{3,} (?:ERROR (?:at \w+ of|collecting) )?(\S+) _{3,}$/],
  ['go', /^\s*--- FAIL: (\S+)/],
  ['cargo', /^test (\S+) \.\.\. FAILED/],
  ['cargo', /^---- (\S+) stdout ----/],
  ['maven', /^\[ERROR\]\s+((?:[\w$]+\.)+[\w$]+)(?::\d+| » )/],
  ['gradle', /^([^\s>][^>]* > .+) FAILED$/],
  ['dotnet', /^\s*Failed (\S+) \[/],
  ['phpunit', /^\d+\) (\S+::\S+)/],
  ['rspec', /^rspec \.\S+ # (.+)$/],
]
const mochaTitle = /^\s+\d+\) (\S.*)$/
const goPackage = /^FAIL\s+(\S+)\s/
const section = /^\s*\d+ (flaky|failed|passed|skipped|did not run)\b/
const listed = /^\s*\[[\w -]+\] › [^›]+ › (.+)$/

const maxNames = 50
const maxKept = 5_000
const maxTitleLines = 5

/** Literals of lines that matter here. */
export const testLiterals =
  '● |) [|fail |fail\t|failed |error |___ |--- fail|... failed| failed|stdout ----|[error]|0) |1) |2) |3) |4) |5) |6) |7) |8) |9) |rspec .| flaky|] › '

export class FailedTests {
  readonly #names = new Map<string, Set<string>>()
  readonly #flaky = new Set<string>()
  /** Of Go: before the line of their package. */
  #loose: string[] = []
  #titles: string[] | undefined
  #isFlaky = false

  /** A title goes on over lines that have no literal. */
  get isOpen(): boolean {
    return this.#titles !== undefined
  }

  feed(line: string): void {
    this.#isFlaky = section.exec(line)?.[1]?.startsWith('flaky') ?? this.#isFlaky
    const flaky = this.#isFlaky ? listed.exec(line)?.[1] : undefined
    if (flaky !== undefined) this.#flaky.add(nameOf(flaky))
    if (this.#titles === undefined) this.#begin(line)
    else this.#goOn(line)
  }

  #begin(line: string): void {
    for (const [runner, pattern] of named) {
      const [, name] = pattern.exec(line) ?? []
      if (name === undefined) continue
      if (runner === 'go') this.#loose.push(name)
      else if (runner === 'gradle')
        this.#add(runner, name.replaceAll(' > ', '.').replace(/\(\)$/, ''))
      else this.#add(runner, nameOf(name))
      return
    }
    const [, of] = goPackage.exec(line) ?? []
    if (of !== undefined) {
      for (const name of this.#loose.splice(0)) this.#add('go', `${of}.${name}`)
      return
    }
    const [, title] = mochaTitle.exec(line) ?? []
    if (title !== undefined) this.#titles = [title]
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
