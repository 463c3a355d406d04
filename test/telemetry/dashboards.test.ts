/** Dashboards and alerts, evaluated by a real Prometheus that reads a running instance. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { Metrics } from '../../packages/base/telemetry/metrics.ts'
import { needs } from '../support/debian.ts'
import { runGateway } from '../support/gateway.ts'
import { startPrometheus } from '../support/prometheus.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'
import { parseExposition } from './exposition.ts'

const folder = join(import.meta.dirname, '../../deploy/monitoring')
const rulesFile = join(folder, 'alerts.yml')
const { groups } = parse(readFileSync(rulesFile, 'utf8')) as {
  groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[]
}
const rules = groups.flatMap((group) => group.rules)

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly datasource?: { readonly uid: string }
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly targets?: readonly { readonly expr: string }[]
}

const dashboards = readdirSync(folder).flatMap((file) =>
  file.endsWith('.json')
    ? [
        {
          file,
          ...(JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
            title: string
            uid: string
            panels: Panel[]
          }),
        },
      ]
    : [],
)
const panels = dashboards.flatMap(({ file, panels }) =>
  panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ place: `${file}: ${title}`, expr })),
  ),
)
const asked = [...panels, ...rules.map(({ alert, expr }) => ({ place: alert, expr }))]

test('dashboards and alerts name metrics and labels that exist', async () => {
  const metrics = new Metrics('')
  metrics.watch({
    upstreams: { pending: () => [], endpoints: () => [] },
    redis: { isReachable: () => true },
    eventStreams: () => 0,
    embedded: { isListening: () => true, observe: async () => undefined },
  })
  const labels = new Map(
    metrics.descriptions.map(({ name, labels }) => [name, new Set<string>(labels)]),
  )
  const known = new Set(parseExposition((await metrics.print()).text).keys())
  assert.ok(asked.length > 40)
  for (const { place, expr } of asked) {
    const named = [
      ...expr.matchAll(
        /\b((?:fairlead|nodejs|process)_\w+?)(?:_bucket)?(?:\{([^}]*)\}|(?=[^\w{]|$))/g,
      ),
    ]
    assert.ok(named.length > 0, place)
    for (const [, name = '', selector = ''] of named) {
      assert.ok(known.has(name), `${place}: ${name}`)
      for (const [, label = ''] of selector.matchAll(/(\w+)\s*(?:=|!)/g)) {
        assert.ok(
          label === 'job' || labels.get(name)?.has(label),
          `${place}: ${name} has no label ${label}`,
        )
      }
    }
  }
})

test('a Grafana of any name for its data source shows every panel, none above another', () => {
  assert.equal(new Set(dashboards.map(({ uid }) => uid)).size, dashboards.length)
  for (const { file, panels } of dashboards) {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, file)
    const taken = new Set<string>()
    for (const { title, type, datasource, gridPos } of panels) {
      assert.equal(datasource?.uid, type === 'row' ? undefined : '${datasource}', title)
      for (let column = gridPos.x; column < gridPos.x + gridPos.w; column++) {
        for (let line = gridPos.y; line < gridPos.y + gridPos.h; line++) {
          const cell = `${column}/${line}`
          assert.ok(column < 24 && !taken.has(cell), `${file}: ${title}`)
          taken.add(cell)
        }
      }
    }
  }
})

test('every alert says what to do', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/alerts.md'), 'utf8')
  const headings = [...guide.matchAll(/^## (Fairlead\w+)$/gm)].map(([, name]) => name)
  assert.deepEqual(
    rules.map(({ alert }) => alert),
    headings,
  )
  for (const { alert, annotations } of rules)
    assert.equal(annotations['runbook'], `docs/guides/alerts.md#${alert.toLowerCase()}`)
})

/** Series of an hour, a value each minute, with which each alert fires, and with which it does not. */
const troubles: Readonly<
  Record<string, readonly [series: string, firing: string, calm: string][]>
> = {
  FairleadErrors: [
    ['fairlead_requests_total{status="500"}', '0+10x60', '0+1x60'],
    ['fairlead_requests_total{status="200"}', '0+90x60', '0+99x60'],
  ],
  FairleadSlow: [
    ['fairlead_request_duration_seconds_bucket{le="10"}', '0+9x60', '0+10x60'],
    ['fairlead_request_duration_seconds_bucket{le="30"}', '0+10x60', '0+10x60'],
    ['fairlead_request_duration_seconds_bucket{le="+Inf"}', '0+10x60', '0+10x60'],
  ],
  FairleadServiceUnreachable: [
    ['fairlead_upstream_requests_total{service="orca",status="none"}', '0+1x60', '7x60'],
  ],
  FairleadCircuitOpen: [['fairlead_upstream_circuit_state{service="orca"}', '2x60', '1x60']],
  FairleadOverloaded: [['fairlead_requests_shed_total{reason="loop"}', '0+1x60', '7x60']],
  FairleadRedisDown: [['fairlead_redis_up', '0x60', '1x60']],
  FairleadLoginsFail: [['fairlead_logins_total{method="ldap",result="error"}', '0+1x60', '7x60']],
  FairleadPasswordsGuessed: [
    ['fairlead_logins_total{method="form",result="refused"}', '0+11x60', '0+9x60'],
  ],
  FairleadAuditFails: [['fairlead_audit_failures_total', '0+1x60', '7x60']],
  FairleadEventLoopBlocked: [
    ['nodejs_eventloop_lag_p99_seconds{instance="a"}', '0.6x60', '0.4x60'],
    ['fairlead_build_info{instance="a"}', '1x60', '1x60'],
  ],
  FairleadBackEndsDown: [['fairlead_embedded_up', '0x60', '1x60']],
  FairleadEngineLate: [['fairlead_engine_queue_age_seconds{queue="due"}', '61x60', '59x60']],
  FairleadPipelinesFail: [
    ['fairlead_executions_ended_total{type="PIPELINE",status="TERMINAL"}', '0+6x60', '0+4x60'],
    ['fairlead_executions_ended_total{type="PIPELINE",status="SUCCEEDED"}', '0+4x60', '0+6x60'],
  ],
  FairleadAccountUnreachable: [
    ['fairlead_account_up{provider="local",account="dev"}', '0x60', '1x60'],
  ],
  FairleadCertificateEnds: [
    ['fairlead_certificate_expiry_seconds{host="shop.example"}', '24x60', '26x60'],
    ['fairlead_certificate_life_seconds{host="shop.example"}', '100x60', '100x60'],
  ],
}

test('every alert fires in the trouble that it is about, and not without it', (t) => {
  const program = needs(t, 'prometheus')
  if (program === undefined) return
  const directory = createFolder('alerts')
  t.after(() => removeFolder(directory))
  const tests = rules.flatMap(({ alert }) =>
    [1, 0].map((firing, index) => ({
      interval: '1m',
      input_series: (troubles[alert] ?? assert.fail(alert)).map(([series, ...values]) => ({
        series,
        values: values[index],
      })),
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
          eval_time: '59m',
          exp_samples: [{ labels: '{}', value: firing }],
        },
      ],
    })),
  )
  const file = join(directory, 'alerts.json')
  writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }))
  const { status, stdout, stderr } = spawnSync(
    join(dirname(program), 'promtool'),
    ['test', 'rules', file],
    { encoding: 'utf8' },
  )
  assert.equal(status, 0, stdout + stderr)
})

/** Panels about what this instance has none of: services and Redis apart, logins, limits and clusters. */
const idle = new Set([
  'accounts.json: Kubernetes accounts',
  'gateway.json: Calls without an answer',
  'gateway.json: Circuits',
  'gateway.json: Logins',
  'gateway.json: Beyond the rate limit',
  'gateway.json: Redis',
])

test('a Prometheus evaluates all of them over an instance that has run pipelines', async (t) => {
  const program = needs(t, 'prometheus')
  if (program === undefined) return
  execFileSync(join(dirname(program), 'promtool'), ['check', 'rules', '--lint-fatal', rulesFile])
  const { url } = await runGateway(
    t,
    { local: { enabled: true, accounts: [{ name: 'dev' }] } },
    { embedded: true },
  )
  const prometheus = await startPrometheus(t, program, {
    targets: [{ job: 'gate', url: new URL('/spectator/metrics', url) }],
    ruleFiles: [rulesFile],
  })
  const ask = async (expr: string) => {
    const query = new URLSearchParams({
      query: expr.replaceAll('$job', 'gate').replaceAll('$__rate_interval', '1m'),
    })
    const answer = await fetch(`${prometheus}/api/v1/query?${query}`)
    return (await answer.json()) as {
      status: string
      error?: string
      data?: { result: { metric: Record<string, string>; value: [number, string] }[] }
    }
  }
  const start = async (type: string, extra: object) => {
    const stages = [{ refId: '1', type, name: type, requisiteStageRefIds: [], ...extra }]
    const body = JSON.stringify({ application: 'web', name: type, stages })
    const answer = await fetch(`${url}/pipelines/start`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    assert.equal(answer.status, 200, await answer.clone().text())
  }
  await waitFor(
    async () => (await ask('up').catch(() => undefined))?.data?.result[0],
    'the first scrape',
  )
  await start('wait', { waitTime: 0 })
  await start('checkPreconditions', {
    preconditions: [{ type: 'expression', failPipeline: true, context: { expression: 'false' } }],
  })
  const ended = async (expr: string) => (await ask(expr)).data?.result[0]?.value[1]
  await waitUntil(
    async () =>
      (await ended('fairlead_executions_ended_total{type="PIPELINE",status="TERMINAL"}')) === '1',
    'a failed pipeline that is counted',
  )
  await waitUntil(
    async () =>
      (await ended('fairlead_stages_ended_total{type="wait",status="SUCCEEDED"}')) === '1',
    'a stage that is counted',
  )
  assert.equal(await ended('fairlead_account_up{provider="local",account="dev"}'), '1')
  for (const { place, expr } of asked) {
    const { status, error } = await ask(expr)
    assert.equal(status, 'success', `${place}: ${error}`)
  }
  let empty = panels.filter(({ place }) => !idle.has(place))
  await waitUntil(
    async () => {
      await fetch(`${url}/applications`)
      const answers = await Promise.all(empty.map(({ expr }) => ask(expr)))
      const isShown = (index: number) =>
        answers[index]?.data?.result.some(({ value }) => value[1] !== 'NaN')
      empty = empty.filter((_panel, index) => !isShown(index))
      return empty.length === 0
    },
    () => `series in ${empty.map(({ place }) => place).join(', ')}`,
  )
  const firing = (await (await fetch(`${prometheus}/api/v1/rules`)).json()) as {
    data: { groups: { rules: { name: string; health: string }[] }[] }
  }
  const states = firing.data.groups.flatMap((group) => group.rules)
  assert.deepEqual(
    states.filter(({ health }) => health === 'err'),
    [],
  )
  assert.equal(states.length, rules.length)
})
