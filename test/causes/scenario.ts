/** The outputs of `scenarios.txt` with their causes. */
import { readFileSync } from 'node:fs'
import type { CauseKind } from '../../packages/base/causes/cause.ts'

export interface CauseScenario {
  readonly number: number
  readonly tool: string
  readonly kind: CauseKind | undefined
  readonly exitCode: number
  readonly isOutOfMemory: boolean
  readonly lines: string[]
  /** Number of the line with the cause. */
  line?: number
  text?: string
  place?: string
  readonly tests: string[]
  hasNone: boolean
}

const kinds: Readonly<Record<string, CauseKind>> = {
  C: 'code',
  T: 'test',
  D: 'dependency',
  G: 'configuration',
  N: 'network',
  P: 'permission',
  R: 'resource',
  O: 'timeout',
  K: 'killed',
  U: 'unknown',
}

export function readScenarios(file: string): CauseScenario[] {
  const found: CauseScenario[] = []
  for (const row of readFileSync(`${import.meta.dirname}/${file}`, 'utf8')
    .trimEnd()
    .split('\n')) {
    const [, number, tool = '', kind = '', more = ''] = /^(\d+) (\S+) (\S)(.*)$/.exec(row) ?? []
    if (number !== undefined) {
      found.push({
        number: Number(number),
        tool,
        kind: kinds[kind],
        exitCode: Number(/x(\d+)/.exec(more)?.[1] ?? 1),
        isOutOfMemory: more.includes('OOMKilled'),
        lines: [],
        tests: [],
        hasNone: false,
      })
    } else if (!row.startsWith('#')) addRow(found.at(-1) as CauseScenario, row)
  }
  return found
}

function addRow(scenario: CauseScenario, row: string): void {
  const value = row
    .slice(1)
    .replaceAll('\\e', '\u001b')
    .replaceAll('\\r', '\r')
    .replaceAll(/\\x\{(\d+)\}/g, (_, count) => 'x'.repeat(Number(count)))
  if (row[0] === '=') scenario.text = value
  else if (row[0] === '@') scenario.place = value
  else if (row[0] === '*') scenario.tests.push(value)
  else if (row[0] === '-') scenario.hasNone = true
  else {
    scenario.lines.push(value)
    if (row[0] === '>') scenario.line = scenario.lines.length
  }
}
