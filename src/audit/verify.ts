/** Verifies the chain of an audit log: records unaltered, none missing. */
import { setImmediate } from 'node:timers/promises'
import { type ChainHead, chainStart, formatCanonical, hashOf, parseRecord } from './chain.ts'

interface ChainBreak {
  /** Counts from 1, through all files. */
  readonly line: number
  readonly problem: string
}

export interface Verification {
  readonly records: number
  /** Sequence of the first record; above 1 when older ones have been removed. */
  readonly first: number | undefined
  /** Events that could not be written, as the records themselves say. */
  readonly lost: number
  /** The end of the chain: who keeps it elsewhere notices when the newest records are removed. */
  readonly last: ChainHead | undefined
  /** The first ones; empty when the chain is sound. */
  readonly breaks: readonly ChainBreak[]
  /** The last line is incomplete: the process ended while it wrote it. */
  readonly incomplete: boolean
  /** Whether the record with the expected hash is there; true when none is expected. */
  readonly hasExpected: boolean
}

const maxBreaks = 20

/** So many lines are verified at a time; requests get their turn in between. */
const linesPerTurn = 50

/**
 * @param lines In order; the last one of an interrupted file may be incomplete.
 * @param expected Hash of a record that must still be there.
 */
export async function verifyChain(lines: AsyncIterable<string> | Iterable<string>, expected?: string): Promise<Verification> {
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

function findAlteration(line: string, record: ReturnType<typeof parseRecord> & object): string | undefined {
  if (hashOf({ ...record }) !== record.hash) return `was altered: the hash of record ${record.sequence} does not fit its content`
  return formatCanonical(record) === line ? undefined : `was altered: record ${record.sequence} is not written as it was`
}

function findGap(record: { sequence: number; previous: string }, last: ChainHead | undefined): string | undefined {
  const { sequence, previous } = record
  if (last === undefined) {
    return sequence === 1 && previous !== chainStart.hash ? 'is the first record and refers to one before it' : undefined
  }
  if (sequence > last.sequence + 1) {
    const [from, to] = [last.sequence + 1, sequence - 1]
    return `comes after a gap: ${from === to ? `record ${from} is` : `records ${from} to ${to} are`} missing`
  }
  if (sequence <= last.sequence) return `holds record ${sequence}, which cannot follow record ${last.sequence}`
  return previous === last.hash ? undefined : `does not follow from record ${last.sequence}: that one was replaced`
}
