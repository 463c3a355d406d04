/** Compares this clock with those of identity providers. */

import {
  type Check,
  type Finding,
  findingsOn,
  type Timeouts,
} from '@fairlead/base/findings/finding.ts'
import { listPeers } from '@fairlead/gateway/login/settings.ts'
import type { Config } from '../config/config.ts'
import { externalServices } from './check-services.ts'

const subject = 'Clock'
/** A Date header has whole seconds, and the way there and back takes some time. */
const noticeableMs = 5000

interface ClockPeer {
  readonly url: string
  readonly host: string
  /** How far the clocks may be apart before logins fail, in milliseconds. */
  readonly toleratedMs: number
}

export function checkClock(config: Config, { answerMs }: Timeouts, now: () => number): Check[] {
  const peers = new Map(peersOf(config).map((peer) => [peer.host, peer]))
  return [...peers.values()].map((peer) => ({ subject, run: () => compare(peer, answerMs, now) }))
}

function peersOf({ login, upstreams }: Config): ClockPeer[] {
  const services = externalServices(upstreams).map((baseUrl) => ({
    url: `${baseUrl}/health`,
    toleratedMs: 300_000,
  }))
  return [...services, ...listPeers(login)].flatMap(({ url, toleratedMs }) =>
    toleratedMs === undefined ? [] : [{ url, host: new URL(url).host, toleratedMs }],
  )
}

/** Servers without an answer or a clock are skipped. */
async function compare(
  { url, host, toleratedMs }: ClockPeer,
  answerMs: number,
  now: () => number,
): Promise<Finding[]> {
  const report = findingsOn(subject)
  const tried = `compare with the Date header of ${host}`
  const askedAtMs = now()
  const answer = await fetch(url, {
    redirect: 'manual',
    signal: AbortSignal.timeout(answerMs),
  }).catch(() => undefined)
  await answer?.body?.cancel().catch(() => {})
  const theirsMs = Date.parse(answer?.headers.get('date') ?? '')
  if (Number.isNaN(theirsMs)) return []
  const aheadMs = (askedAtMs + now()) / 2 - (theirsMs + 500)
  const found = `this clock is ${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? 'ahead' : 'behind'}`
  const advice = 'have both machines follow a time server (chrony, systemd-timesyncd)'
  if (Math.abs(aheadMs) >= toleratedMs) {
    return [
      report.problem(
        tried,
        `${found}; from ${toleratedMs / 1000} s on, its tokens are rejected as expired or from the future`,
        advice,
      ),
    ]
  }
  if (Math.abs(aheadMs) > noticeableMs) return [report.warning(tried, found, advice)]
  return [report.ok(tried, 'both agree')]
}
