/** Verifies the chain of an audit log: records unaltered, none missing. */
import { setImmediate } from 'node:timers/promises'
import { type ChainHead, chainStart, formatCanonical, hashOf, parseRecord } from './chain.ts'

interface ChainBreak {
  readonly line: number
  readonly problem: string
}

export interface Verification {
  readonly records: number
  readonly first: number | undefined
  readonly lost: number
  /** The end of the chain: who keeps it elsewhere notices when the newest records are removed. */
  readonly last: ChainHead | undefined
  readonly breaks: readonly ChainBreak[]
  /** The last line is incomplete: the process ended while it wrote it. */
  readonly incomplete: boolean
  readonly hasExpected: boolean
}

const maxBreaks = 20

const linesPerTurn = 50

export async function verifyChain(
  lines: AsyncIterable<string> | Iterable<string>,
  expected?: string,
): Promise<Verification> {
  const breaks: ChainBreak[] = []
  let last: ChainHead | undefined
  let first: number | undefined
  let number = 0
  let records = 0
  let lost = 0
  let unreadable: ChainBreak | undefined
  let hasExpected = expected === undefined
  const note = (problem: string | undefined) => {
    if (problem !== undefined && breaks.length < maxBreaks) breaks.push({ line: number, problem })
  }
  for await (const line of lines) {
    if (unreadable !== undefined && breaks.length < maxBreaks) breaks.push(unreadable)
    unreadable = undefined
    number++
    if (number % linesPerTurn === 0) await setImmediate()
    const record = parseRecord(line)
    if (record === undefined) {
      const problem = { line: number, problem: 'is not a record' }
      if (line.endsWith('}')) note(problem.problem)
      else unreadable = problem
      continue
    }
    records++
    hasExpected ||= record.hash === expected
    if (typeof record.lost === 'number') lost += record.lost
    note(findAlteration(line, record) ?? findGap(record, last))
    first ??= record.sequence
    last = { sequence: record.sequence, hash: record.hash }
  }
  return { records, first, lost, last, breaks, incomplete: unreadable !== undefined, hasExpected }
}

function findAlteration(
  line: string,
  record: ReturnType<typeof parseRecord> & object,
): string | undefined {
  if (hashOf({ ...record }) !== record.hash)
    return `was altered: the hash of record ${record.sequence} does not fit its content`
  return formatCanonical(record) === line
    ? undefined
    : `was altered: record ${record.sequence} is not written as it was`
}

function findGap(
  { sequence, previous }: { sequence: number; previous: string },
  last: ChainHead | undefined,
): string | undefined {
  if (last === undefined) {
    return sequence === 1 && previous !== chainStart.hash
      ? 'is the first record and refers to one before it'
      : undefined
  }
  if (sequence > last.sequence + 1) {
    const [from, to] = [last.sequence + 1, sequence - 1]
    return `comes after a gap: ${from === to ? `record ${from} is` : `records ${from} to ${to} are`} missing`
  }
  if (sequence <= last.sequence)
    return `holds record ${sequence}, which cannot follow record ${last.sequence}`
  return previous === last.hash
    ? undefined
    : `does not follow from record ${last.sequence}: that one was replaced`
}
