/** Finds the rules that a line matches; literals decide first which patterns are tried. */
import type { CleanLine } from './clean-line.ts'
import { testRows } from './failed-tests.ts'
import { Literals } from './literals.ts'
import { generalRules, type RuleClass, type RuleRow, toolRules } from './tool-rules.ts'

export interface Rule {
  readonly tool: string
  /** Place among the rules of all tools: of one tool, the first wins. */
  readonly rank: number
  readonly literals: string
  readonly pattern: RegExp
  readonly class: RuleClass
  readonly options: NonNullable<RuleRow[3]>
}

/** Name of the tool that is not known. */
export const anyTool = 'any'

const levelLiterals = '"level"|"severity"|"lvl"|level=|severity=|lvl=|##[error]|::error'

const rules: readonly Rule[] = [...toolRules, [anyTool, generalRules] as const]
  .flatMap(([tool, rows]) => rows.map((row) => ({ tool, row })))
  .map(({ tool, row: [text, pattern, class_, options = {}] }, rank) => {
    return { tool, rank, literals: text, pattern, class: class_, options }
  })

interface LiteralUse {
  readonly rules: Rule[]
  /** A line that has only literals of noise is none that matters. */
  matters: boolean
  /** Places of the runners whose names of failed tests may stand in the line. */
  readonly runners: number[]
  /** Terminals do something other than to print it. */
  isControl: boolean
  /** Such as `1) `: at the end of a bracket, it says nothing. */
  readonly isNumber: boolean
}

interface Scanner {
  readonly literals: Literals
  /** In the order of the literals. */
  readonly places: readonly LiteralUse[]
}

let scanner: Scanner | undefined

/** Made for the first line: most processes never look for a cause. */
function openScanner(): Scanner {
  const uses = new Map<string, LiteralUse>()
  const useOf = (literal: string) =>
    uses.getOrInsertComputed(literal, () => ({
      rules: [],
      matters: false,
      runners: [],
      isControl: false,
      isNumber: /^\d\) $/.test(literal),
    }))
  for (const rule of rules) {
    for (const literal of rule.literals.split('|')) {
      const use = useOf(literal)
      use.rules.push(rule)
      use.matters ||= rule.class !== 'N'
    }
  }
  for (const [runner, { literals }] of testRows.entries())
    for (const literal of literals.split('|')) useOf(literal).runners.push(runner)
  for (const control of '\u001b\r') useOf(control).isControl = true
  for (const literal of levelLiterals.split('|')) useOf(literal).matters = true
  return { literals: new Literals([...uses.keys()]), places: [...uses.values()] }
}

/** The literals of a line. */
export interface Scan {
  readonly matters: boolean
  readonly isControl: boolean
  /** No other literal. */
  readonly isNumbers: boolean
  /** Places of rows of `testRows`. */
  readonly runners: readonly number[]
  readonly uses: readonly LiteralUse[]
}

const nothing = {
  matters: false,
  isControl: false,
  isNumbers: false,
  runners: [] as readonly number[],
  uses: [] as readonly LiteralUse[],
}

export function scanLine(plain: string): Scan {
  return scanBytes(Buffer.from(plain))
}

export function scanBytes(bytes: Uint8Array, from?: number, to?: number): Scan {
  scanner ??= openScanner()
  const { literals, places } = scanner
  const found = literals.scan(bytes, from, to)
  if (found.length === 0) return nothing
  const scan = { ...nothing, isNumbers: true, uses: [] as LiteralUse[] }
  // A loop: most lines of some outputs have one.
  for (const place of found) {
    const use = places[place] as LiteralUse
    scan.uses.push(use)
    scan.matters ||= use.matters
    scan.isControl ||= use.isControl
    scan.isNumbers &&= use.isNumber
    if (use.runners.length > 0) scan.runners = [...scan.runners, ...use.runners]
  }
  return scan
}

function isMatch({ tool, pattern }: Rule, clean: CleanLine): boolean {
  return pattern.test(tool === anyTool ? clean.text : clean.line)
}

/** All rules that the line matches, in order. */
export function rulesOf(scan: Scan, clean: CleanLine): Rule[] {
  const tried = new Set(scan.uses.flatMap((use) => use.rules))
  return [...tried]
    .filter((rule) => isMatch(rule, clean))
    .sort((one, other) => one.rank - other.rank)
}

/** Class of the first rule that matches, whatever the lines around it. */
export function classOf(scan: Scan, clean: CleanLine): RuleClass | undefined {
  if (clean.level === 'other') return 'N'
  let first: Rule | undefined
  for (const use of scan.uses) {
    for (const rule of use.rules) {
      if (first !== undefined && rule.rank >= first.rank) break
      if (isMatch(rule, clean)) first = rule
    }
  }
  const found = first?.class
  return clean.level === undefined || (found !== undefined && found !== 'H') ? found : 'C'
}
