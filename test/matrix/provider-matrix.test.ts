/** The provider matrix: every login method, companion and front with every kind of client; the table is in expected.ts. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Browser, Visit } from '../login/browser.ts'
import { createClock } from '../sessions/support.ts'
import { type Arrangement, startArrangement, startSurroundings } from './arrangement.ts'
import {
  type Cell,
  type Client,
  clients,
  companions,
  expected,
  type Front,
  fronts,
  methods,
  type Outcomes,
  states,
} from './expected.ts'
import { goThroughLogin, protectedPath } from './go-through-login.ts'

const unknownSession = 'A'.repeat(43)
const hourMs = 3_600_000

test('the provider matrix: every client gets the documented response', async (t) => {
  const surroundings = await startSurroundings(t, createClock(Date.now()))
  for (const method of methods) {
    for (const companion of companions) {
      const found = new Map<Client, string[]>()
      for (const front of fronts) {
        const rows = clients.map(
          (client) => [client, outcomesAt(expected[method][companion][client], front)] as const,
        )
        if (rows.every(([, outcomes]) => outcomes.every(isMissing))) continue
        await t.test(`${method} ${companion}, ${front}`, async (t) => {
          surroundings.clock.nowMs = Date.now()
          const arrangement = await startArrangement(t, surroundings, { method, companion, front })
          if (arrangement === undefined) return
          const actual = await findOutcomes(arrangement, new Map(rows))
          for (const [client, outcomes] of actual)
            found.set(client, [...(found.get(client) ?? []), shorten(outcomes)])
          assert.deepEqual(toTable(actual), toTable(new Map(rows)))
        })
      }
      t.diagnostic(formatRow(`${method} ${companion}`, found))
    }
  }
})

function outcomesAt(cell: Cell, front: Front): Outcomes {
  if (Array.isArray(cell)) return cell as unknown as Outcomes
  return (cell as Exclude<Cell, Outcomes>)[front === 'direct' ? 'direct' : 'balanced']
}

const isMissing = (outcome: string) => outcome.startsWith('not applicable')

/** All cells of one gateway; what does not apply is taken from the table. */
async function findOutcomes(
  arrangement: Arrangement,
  wanted: ReadonlyMap<Client, Outcomes>,
): Promise<Map<Client, readonly string[]>> {
  const found = new Map<Client, string[]>()
  const applicable = clients.filter((client) => {
    const outcomes = wanted.get(client) ?? []
    found.set(client, outcomes.filter(isMissing))
    return !outcomes.every(isMissing)
  })
  const stale = await logIn(arrangement)
  for (const client of applicable) found.get(client)?.push(await askFresh(arrangement, client))
  arrangement.surroundings.clock.nowMs += 2 * hourMs
  for (const client of applicable)
    found.get(client)?.push(await askWith(arrangement, client, stale))
  const ended = await logIn(arrangement)
  await logOut(arrangement, ended)
  for (const client of applicable)
    found.get(client)?.push(await askWith(arrangement, client, ended))
  return found
}

async function askFresh(arrangement: Arrangement, client: Client): Promise<string> {
  const browser = await arrangement.open(client)
  const answer =
    client === 'browser'
      ? await goThroughLogin(arrangement, browser)
      : await browser.visit(protectedPath)
  const outcome = toOutcome(arrangement, answer)
  // Programs bring their credential each time, so nobody keeps a session for them.
  if (client !== 'browser' && answer.status === 200) assert.equal(browser.session, undefined)
  return outcome
}

/** With the cookie of a session that is over; a browser can then log in again. */
async function askWith(arrangement: Arrangement, client: Client, session: string): Promise<string> {
  const browser = await arrangement.open(client)
  browser.plant('SESSION', session)
  const outcome = toOutcome(arrangement, await browser.visit(protectedPath))
  if (client === 'browser' && outcome === '302 login') {
    assert.match(toOutcome(arrangement, await goThroughLogin(arrangement, browser)), /^200 /)
    assert.notEqual(browser.session, session)
  }
  return outcome
}

/** The session of a new browser; an invented one where the method keeps none. */
async function logIn(arrangement: Arrangement): Promise<string> {
  const browser = await arrangement.open('browser')
  const cookies: string[] = []
  await goThroughLogin(arrangement, recording(browser, cookies))
  if (browser.session === undefined) return unknownSession
  const { protocol, pathname } = new URL(`${arrangement.url}/`)
  const secure = protocol === 'https:' ? '; Secure' : ''
  for (const cookie of cookies)
    assert.ok(cookie.endsWith(`; Path=${pathname}${secure}; HttpOnly`), cookie)
  return browser.session
}

/** Notes the session cookies that the browser is given. */
function recording(browser: Browser, cookies: string[]): Browser {
  const visit = browser.visit.bind(browser)
  browser.visit = async (...given) => {
    const answer = await visit(...given)
    cookies.push(...answer.cookies.filter((cookie) => cookie.startsWith('SESSION=')))
    return answer
  }
  return browser
}

async function logOut(arrangement: Arrangement, session: string): Promise<void> {
  const browser = await arrangement.open('browser')
  browser.plant('SESSION', session)
  const answer = await browser.visit('/auth/logout')
  assert.deepEqual([answer.status, answer.location], [302, `${arrangement.url}/auth/loggedOut`])
  assert.equal((await browser.visit(answer.location ?? '')).status, 200)
}

function toOutcome({ url }: Arrangement, { status, location, text }: Visit): string {
  if (status === 302)
    return location === `${url}/login` || location === `${url}/login?expired`
      ? '302 login'
      : `302 ${location}`
  if (text.startsWith('<!doctype html>') && status >= 400 && location === null)
    return String(status)
  const body = JSON.parse(text) as { username?: string; status?: number }
  if (status === 200) return `200 ${body.username}`
  return location === null && body.status === status
    ? String(status)
    : `${status}, badly answered: ${text}`
}

function toTable(rows: ReadonlyMap<Client, readonly string[]>): Record<string, string> {
  return Object.fromEntries(
    [...rows].flatMap(([client, outcomes]) =>
      outcomes.map((outcome, index) => [`${client}, ${states[index]}`, outcome]),
    ),
  )
}

function shorten(outcomes: readonly string[]): string {
  const words = outcomes.map((outcome) =>
    outcome.replace(/^200 |@example\.com$| login$/g, '').replace(/^not applicable.*/, '-'),
  )
  return new Set(words).size === 1 ? String(words[0]) : words.join('/')
}

/** Outcomes that differ by front are separated by commas, those that differ by state by slashes. */
function formatRow(name: string, found: ReadonlyMap<Client, readonly string[]>): string {
  const cells = clients.map((client) => {
    const outcomes = found.get(client) ?? ['-']
    return `${client} ${new Set(outcomes).size === 1 ? outcomes[0] : outcomes.join(',')}`
  })
  return `${name.padEnd(28)}${cells.map((cell) => cell.padEnd(26)).join('')}`.trimEnd()
}
