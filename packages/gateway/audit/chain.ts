/** Hash chain of the audit log: each record hashes its predecessor's hash and its content. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { AuditEvent, AuditRecord } from './event.ts'

export interface ChainHead {
  readonly sequence: number
  readonly hash: string
}

interface SealedRecord {
  readonly record: AuditRecord
  readonly line: string
}

export const chainStart: ChainHead = { sequence: 0, hash: '0'.repeat(64) }

const Linked = z.looseObject({
  at: z.string(),
  decision: z.string(),
  kind: z.string(),
  sequence: z.int().min(1),
  previous: z.string(),
  hash: z.string(),
})

export function sealEvents(head: ChainHead, events: readonly AuditEvent[]): SealedRecord[] {
  let last = head
  return events.map(({ atMs, ...event }) => {
    const content = {
      ...event,
      at: new Date(atMs).toISOString(),
      sequence: last.sequence + 1,
      previous: last.hash,
    }
    const record = { ...content, hash: hashOf(content) }
    last = record
    return { record, line: formatCanonical(record) }
  })
}

/** SHA-256 over the hash before and the content, without the two hashes, as canonical JSON. */
export function hashOf({
  hash: _own,
  previous,
  ...content
}: Readonly<Record<string, unknown>>): string {
  return hash('sha256', `${String(previous)}\n${formatCanonical(content)}`, 'hex')
}

/** JSON in which each value has one form only: names in order, no blanks, nothing that is undefined. */
export function formatCanonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatCanonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${formatCanonical(member)}`).join(',')}}`
}

/** Undefined for lines that no audit log has written. Does not check the chain. */
export function parseRecord(line: string): AuditRecord | undefined {
  try {
    return Linked.safeParse(JSON.parse(line)).data as AuditRecord | undefined
  } catch {
    return undefined
  }
}
