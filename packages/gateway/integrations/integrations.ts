/** Services outside the platform for the web UI: proxies, and the lists of Slack, PagerDuty and Gremlin. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { isTrue, listOf } from '@fairlead/base/json/values.ts'
import { readConfigured } from '@fairlead/base/net/call-configured.ts'
import type { IntegrationSettings } from './settings.ts'

type PagerDutyEntry = Readonly<Record<string, unknown>>

const idleMs = 20_000
const pagerDutyKeptMs = 300_000
const maxPages = 200

/** Each list throws NOT_FOUND where its service is not configured, and UPSTREAM_… as other calls. */
export class Integrations {
  readonly proxies: IntegrationSettings['proxies']
  readonly slackChannels: () => Promise<unknown[]>
  readonly pagerDutyServices: () => Promise<PagerDutyEntry[]>
  readonly pagerDutyOnCalls: () => Promise<Record<string, PagerDutyEntry[]>>
  readonly #settings: IntegrationSettings

  constructor(settings: IntegrationSettings, now: () => number) {
    this.#settings = settings
    this.proxies = settings.proxies
    this.slackChannels = keep(() => this.#readChannels(), settings.slack?.keptMs ?? 0, now)
    this.pagerDutyServices = keep(() => this.#readServices(), pagerDutyKeptMs, now)
    this.pagerDutyOnCalls = keep(() => this.#readOnCalls(), pagerDutyKeptMs, now)
  }

  async gremlinTemplates(kind: 'command' | 'target', apiKey: string): Promise<unknown[]> {
    const { baseUrl } = configured(
      this.#settings.gremlin,
      'Gremlin',
      'integrations.gremlin.enabled',
    )
    return listOf(
      await read('Gremlin', `${baseUrl}/templates/${kind}`, { authorization: `Key ${apiKey}` }),
    )
  }

  async #readChannels(): Promise<unknown[]> {
    const { baseUrl, token } = configured(this.#settings.slack, 'Slack', 'slack.token')
    const channels: unknown[] = []
    let cursor = ''
    for (let page = 0; page < maxPages; page++) {
      const query = new URLSearchParams({
        limit: '1000',
        exclude_archived: 'true',
        ...(cursor && { cursor }),
      })
      const answer = await read('Slack', `${baseUrl}/conversations.list?${query}`, {
        authorization: `Bearer ${token}`,
      })
      const { ok, error, channels: found, response_metadata: more } = answer as SlackAnswer
      if (ok !== true)
        throw new GatewayError(
          'UPSTREAM_UNREADABLE',
          `Slack rejected the request: ${String(error)}.`,
        )
      channels.push(...listOf(found))
      cursor = more?.next_cursor ?? ''
      if (cursor === '') break
    }
    return channels
  }

  async #readServices(): Promise<PagerDutyEntry[]> {
    const services = await this.#readPagerDuty(
      '/services?include%5B%5D=integrations&total=true&limit=100',
      'services',
    )
    return services.map(toService)
  }

  async #readOnCalls(): Promise<Record<string, PagerDutyEntry[]>> {
    return groupByPolicy(await this.#readPagerDuty('/oncalls?limit=100', 'oncalls'))
  }

  async #readPagerDuty(path: string, list: 'services' | 'oncalls'): Promise<PagerDutyEntry[]> {
    const { baseUrl, token } = configured(this.#settings.pagerDuty, 'PagerDuty', 'pager-duty.token')
    const headers = {
      accept: 'application/vnd.pagerduty+json;version=2',
      authorization: `Token token=${token}`,
    }
    const entries: PagerDutyEntry[] = []
    for (let page = 0; page < maxPages; page++) {
      const answer = await read('PagerDuty', `${baseUrl}${path}&offset=${entries.length}`, headers)
      const { found, more } = shape({ found: [listOf, list], more: isTrue })(answer)
      entries.push(...(found as PagerDutyEntry[]))
      if (!more || found.length === 0) break
    }
    return entries
  }
}

function read(name: string, url: string, headers: Record<string, string>): Promise<unknown> {
  return readConfigured({
    name,
    method: 'GET',
    url: new URL(url),
    headers: { accept: 'application/json', ...headers },
    idleMs,
  })
}

interface SlackAnswer {
  readonly ok?: unknown
  readonly error?: unknown
  readonly channels?: unknown
  readonly response_metadata?: { readonly next_cursor?: string }
}

function configured<T>(settings: T | undefined, name: string, key: string): T {
  if (settings !== undefined) return settings
  throw new GatewayError('NOT_FOUND', `${name} is not configured. Set ${key}.`)
}

/** One call for all who ask at the same time, and for the time after it. A failed refresh keeps the old list. */
function keep<T>(read: () => Promise<T>, keptMs: number, now: () => number): () => Promise<T> {
  let kept: { readonly value: Promise<T>; untilMs: number } | undefined
  return () => {
    if (kept !== undefined && now() < kept.untilMs) return kept.value
    const former = kept?.value
    const entry = {
      value: read().catch((error: unknown) => former ?? Promise.reject(error)),
      untilMs: Number.POSITIVE_INFINITY,
    }
    kept = entry
    entry.value.then(
      () => {
        entry.untilMs = now() + keptMs
      },
      () => {
        kept = undefined
      },
    )
    return entry.value
  }
}

function toService(service: PagerDutyEntry): PagerDutyEntry {
  const integrations = (service['integrations'] ?? []) as {
    type?: unknown
    integration_key?: unknown
  }[]
  return {
    status: service['status'],
    integration_key:
      integrations.find(({ type }) => type === 'generic_events_api_inbound_integration')
        ?.integration_key ?? null,
    lastIncidentTimestamp: service['last_incident_timestamp'] ?? null,
    name: service['name'],
    id: service['id'],
    policy: policyOf(service) ?? null,
  }
}

function policyOf(entry: PagerDutyEntry): string | undefined {
  return (entry['escalation_policy'] as { id?: string } | null | undefined)?.id
}

function groupByPolicy(onCalls: readonly PagerDutyEntry[]): Record<string, PagerDutyEntry[]> {
  const sorted = onCalls.toSorted(
    (left, right) => Number(left['escalation_level']) - Number(right['escalation_level']),
  )
  return Object.fromEntries(Map.groupBy(sorted, (entry) => String(policyOf(entry) ?? null)))
}
