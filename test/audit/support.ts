/** What the tests of the audit log share: events, and reading a gateway's log back. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { AuditEvent, AuditRecord } from '../../packages/gateway/audit/event.ts'

export function eventsOf(count: number, user = 'alice', fromMs = 0): AuditEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    kind: 'change',
    atMs: fromMs + index * 1000,
    user,
    operation: `operation${index % 2}`,
    application: index % 3 === 0 ? 'web' : 'shop',
    resource: { application: 'web', name: 'ü "quoted"\n' },
    decision: index % 4 === 0 ? 'refused' : 'allowed',
    status: 200,
  }))
}

export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-audit-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface Page {
  events: AuditRecord[]
  next?: string
}

/** What GET /audit/events answers. */
export async function askEvents(
  url: string,
  query = '',
  headers: Record<string, string> = {},
): Promise<Page> {
  const answer = await fetch(`${url}/audit/events?${query}`, { headers, redirect: 'manual' })
  if (answer.status !== 200)
    throw new Error(`GET /audit/events answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Page
}
