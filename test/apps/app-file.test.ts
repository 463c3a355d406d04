import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { appFileJsonSchema } from '../../packages/model/app-file/json-schema.ts'
import { type AppHere, mergeEnvironment } from '../../packages/model/app-file/merge-environment.ts'
import { formatProblem, readAppFile } from '../../packages/model/app-file/read-app-file.ts'

const shop = `application: shop
build: auto                       # or dockerfile, procfile, steps …
services:
  web:    { command: node server.js, instances: 2, health: /healthz, hosts: [shop.example, www.shop.example] }
  worker: { command: node worker.js }
  nightly: { command: node report.js, schedule: "0 3 * * *" }
release: node migrate.js
env: { LOG_LEVEL: info }
secrets: [DATABASE_URL]
attach: { db: postgresql, cache: redis }
environments:
  staging:    { hosts: [staging.shop.example] }
  production: { promote: { judgment: [ops], soak: 30m, canary: 10% } }
`

const fiveErrors = `application: Shop
services:
  web:
    prot: 8080
    instances: 101
    health: { path: /healthz, timeout: 5 }
  worker: { strategy: redblak }
`

function problems(text: string): string[] {
  return (readAppFile(text).problems ?? []).map((problem) => formatProblem(problem))
}

function merged(text: string, environment: string): AppHere {
  const { file, problems: found } = readAppFile(text)
  assert.deepEqual(found, undefined)
  return mergeEnvironment(file, environment)
}

test('app-scenario 57, 58: all errors come at once, with line, column and the nearest key', () => {
  assert.deepEqual(problems(fiveErrors), [
    '.fairlead/app.yml:1:1: application: it must be a name of at most 50 lower-case letters and digits; write for example shop.',
    '.fairlead/app.yml:4:5: services.web.prot: "prot" is not a known key; write port.',
    '.fairlead/app.yml:5:5: services.web.instances: it must be at most 100; write for example 2.',
    '.fairlead/app.yml:6:31: services.web.health.timeout: it must be a duration; write for example 5s.',
    '.fairlead/app.yml:7:13: services.worker.strategy: "redblak" is not a value of this key; write redblack.',
  ])
  const { nearest } = readAppFile(fiveErrors).problems?.[1] ?? {}
  assert.equal(nearest, 'port')
})

test('app-scenario 8: an app file selects no instance', () => {
  assert.match(
    problems(`${shop}url: https://other.example\n`).join(),
    /:14:1: url: "url" is not a known key/,
  )
})

const aliasBomb = Array.from({ length: 10 }, (_, level) => {
  const inner = level === 0 ? 'x' : `*a${level - 1}`
  return `a${level}: &a${level} [${Array(12).fill(inner).join(', ')}]`
}).join('\n')

const refused = {
  'a repeated key': [`${shop}env: {}\n`, /:14:1: env: the key "env" is repeated, as in line 8/],
  'a tag': [
    shop.replace('2,', '!!int 2,'),
    /:4:55: services.web.instances: the tag tag:yaml.org,2002:int is not allowed/,
  ],
  'a merge of maps': ['a: {}\n<<: {}', /:2:1: <<: maps are not merged here; write the keys/],
  'a port as a text': [
    shop.replace('2,', '2, port: "80",'),
    /port: it must be a port from 1 to 65535, or none; write for example 8080/,
  ],
  'a list as a text': [
    shop.replace('build: auto', 'build: { steps: make }'),
    /build\.steps: it must be a list, not text/,
  ],
  'keys of other tools': [
    shop.replace('2,', '2, replicas: 1, environment: {},'),
    /"replicas" is not a known key; write instances[\s\S]*"environment" .*; write env at the top/,
  ],
  'an alias bomb': [aliasBomb, /it has more than 100 aliases/],
  'an alias of itself': ['a: &a { b: *a }', /deeper than 32 levels/],
  'a mebibyte': [`# ${'x'.repeat(1024 ** 2)}`, /262144 are the most/],
  'values without end': [`a: ${'- '.repeat(100_000)}`, /nested deeper/],
  'quotes without end': ['"'.repeat(250_000), /more than 20000 lines and values/],
  'two documents': [`${shop}---\nenv: {}\n`, /:14:1: a second document begins here/],
  'no YAML': ['application: [', /:1:\d+: .*; correct the YAML/],
} as const

for (const [what, [text, message]] of Object.entries(refused)) {
  test(`app-scenario 59: ${what} is rejected`, () => {
    assert.match(problems(text).join('\n'), message)
  })
}

test('app-scenario 63: maps merge, lists replace, null removes', () => {
  const text = `application: shop
services:
  web: { hosts: [shop.example, www.shop.example], health: /healthz, memory: 512Mi, volumes: [{name: data, path: /data}] }
  worker: { instances: 3 }
env: { A: 1.10, B: yes, C: "" }
secrets: [X, { Y: OTHER }]
limits: { body: 1Gi }
environments:
  staging:
    hosts: [STAGING.shop.example.]
    services: { web: { memory: null, health: { timeout: 1s } }, worker: null }
    env: { B: null, D: 5 }
    secrets: [Z]
    limits: { read: 5m }
  production: {}
`
  const staging = merged(text, 'staging')
  const production = merged(text, 'production')
  const [web] = staging.services
  assert.deepEqual(
    staging.services.map(({ name }) => name),
    ['web'],
  )
  assert.deepEqual(web?.hosts, [{ host: 'staging.shop.example', path: '/', strip: false }])
  assert.equal(web?.memoryBytes, undefined)
  assert.equal(web?.strategy, 'stop-first')
  assert.deepEqual(web?.health, {
    ...{
      path: '/healthz',
      status: undefined,
      intervalMs: 2_000,
      timeoutMs: 1_000,
      startMs: 60_000,
    },
    ...{ host: 'staging.shop.example', restart: false },
  })
  assert.deepEqual(staging.env, { A: '1.10', C: '', D: '5' })
  assert.deepEqual(staging.secrets, { Z: 'Z' })
  assert.equal(staging.limits.bodyBytes, 1024 ** 3)
  assert.equal(staging.limits.readMs, 300_000)
  assert.deepEqual(production.env, { A: '1.10', B: 'yes', C: '' })
  assert.deepEqual(production.secrets, { X: 'X', Y: 'OTHER' })
  assert.equal(production.services[1]?.instances, 3)
  assert.equal(production.services[0]?.memoryBytes, 512 * 1024 ** 2)
})

const contradictions = {
  'app-scenario 64: a name in env and secrets': [
    `${shop.replace('LOG_LEVEL', 'DATABASE_URL')}`,
    /:8:8: env.DATABASE_URL: "DATABASE_URL" stands in env and in secrets/,
  ],
  'a schedule with hosts': [
    shop.replace('schedule:', 'hosts: [a.example], schedule:'),
    /:6:59: services.nightly.schedule: a service with a schedule has no hosts/,
  ],
  'instances that would share a volume': [
    shop.replace(
      'node worker.js',
      'node worker.js, instances: 2, volumes: [{ name: a, path: /a }]',
    ),
    /services.worker.instances: the volume "a" is for one instance at a time/,
  ],
  'a host that stands twice': [
    shop.replace('node worker.js', 'node worker.js, hosts: [SHOP.example]'),
    /"shop.example" stands twice/,
  ],
  'hosts of an environment for several services': [
    shop.replace('node worker.js', 'node worker.js, hosts: [b.example]'),
    /:12:17: environments.staging.hosts: it means the only service with hosts/,
  ],
  'a name that another environment would use': [
    shop.replace('worker:', 'staging-web:'),
    /the name of the service "web" in the environment "staging"/,
  ],
  'an alias with the name of a command': [
    `${shop}aliases: { deploy: exec web }\n`,
    /aliases.deploy: "deploy" is a command of its own/,
  ],
} as const

for (const [what, [text, message]] of Object.entries(contradictions)) {
  test(`${what} is an error`, () => assert.match(problems(text).join('\n'), message))
}

test('app-scenario 72: the JSON schema accepts the example and rejects each of five errors', () => {
  const validate = new Ajv2020({ strict: false }).compile(appFileJsonSchema())
  assert.equal(validate(parse(shop)), true, JSON.stringify(validate.errors))
  const wrong = [
    { application: 'Shop' },
    { services: { web: { prot: 8080 } } },
    { services: { web: { instances: 101 } } },
    { services: { web: { health: { path: '/', timeout: 5 } } } },
    { services: { web: { strategy: 'redblak' } } },
  ]
  for (const part of wrong) assert.equal(validate({ ...parse(shop), ...part }), false)
})

test('crontab fires on either kind of day, and counts weekdays from Sunday', () => {
  const text =
    'application: a\nservices: { n: { command: x, schedule: "30 2 13 * 5-7", timezone: Europe/Berlin } }'
  assert.deepEqual(merged(text, 'production').services[0]?.schedule, {
    crontab: '30 2 13 * 5-7',
    quartz: ['0 30 2 13 * ?', '0 30 2 ? * 6-1'],
    timeZone: 'Europe/Berlin',
    onOverlap: 'skip',
  })
  assert.match(
    problems(text.replace('30 2', '61 2')).join(),
    /The minute 61 is not between 0 and 59/,
  )
})
