/** What app files compile to. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, fieldOf, objectsOf } from '../../packages/base/json/values.ts'
import type { AppPlace } from '../../packages/engine/apps/account-places.ts'
import { readApp, withoutCanary } from '../../packages/engine/apps/app-environment.ts'
import {
  compileApplication,
  compileEnvironment,
  deploymentStages,
} from '../../packages/engine/apps/compile.ts'
import { withConstraints } from '../../packages/engine/apps/run-stages.ts'

const example = `
application: shop
build: auto
services:
  web:    { command: node server.js, instances: 2, health: /healthz, hosts: [shop.example, www.shop.example] }
  worker: { command: node worker.js }
  nightly: { command: node report.js, schedule: "0 3 * * 1", timezone: Europe/Berlin }
release: node migrate.js && node seed.js
env: { LOG_LEVEL: info }
secrets: [DATABASE_KEY]
attach: { db: postgresql, cache: redis }
environments:
  staging:    { hosts: [staging.shop.example] }
  production: { promote: { judgment: [ops], soak: 30m, canary: 10% } }
`
const place: AppPlace = { provider: 'local', account: 'local', region: 'local' }

test('app-scenario 60: an example with two environments compiles', () => {
  const app = readApp(example)
  const { content } = compileApplication(app, () => place)
  assert.deepEqual(
    objectsOf(content['environments']).map(({ name, clusters, constraints }) => [
      name,
      clusters,
      objectsOf(constraints).map(({ type }) => type),
    ]),
    [
      ['staging', ['shop-staging-web', 'shop-staging-worker'], []],
      ['production', ['shop-web', 'shop-worker'], ['soakTime', 'judgment']],
    ],
  )
  const [staging = [], production = []] = app.environments.map((here) =>
    compileEnvironment(here, place, app.digest),
  )
  assert.deepEqual(
    [...staging, ...production].map(({ kind, name }) => `${kind} ${name}`),
    [
      'load-balancer shop-staging-web',
      'pipeline deploy staging',
      'pipeline nightly staging',
      'load-balancer shop-web',
      'pipeline deploy production',
      'pipeline nightly production',
    ],
  )
  const stages = objectsOf(production[1]?.content['stages'])
  const [release, web, worker] = stages
  assert.deepEqual(release?.['command'], [
    'sh',
    '-c',
    "exec sh -c 'node migrate.js && node seed.js'",
  ])
  assert.deepEqual(web?.['requisiteStageRefIds'], ['release'])
  const [group] = objectsOf(web?.['clusters'])
  assert.deepEqual(group?.['environment'], {
    LOG_LEVEL: 'info',
    DATABASE_KEY: 'secret:DATABASE_KEY',
  })
  assert.equal(fieldAt(group, 'ready', 'host'), 'shop.example')
  assert.equal(group?.['strategy'], 'canary')
  assert.deepEqual(fieldOf(objectsOf(worker?.['clusters'])[0], 'ready'), { running: true })
  assert.deepEqual(
    objectsOf(production[2]?.content['triggers']).map((each) => [
      each['cronExpression'],
      each['timeZone'],
    ]),
    [['0 0 3 ? * 2', 'Europe/Berlin']],
  )
})

test('a canary is compared by the configuration that it names, and a version that has served needs none', () => {
  const [here] = readApp(
    'application: shop\nservices: { web: { hosts: [shop.example] } }\nenvironments: { production: { promote: { canary: { percent: 20%, config: errors, duration: 5m } } } }',
  ).environments
  assert.ok(here !== undefined)
  const stepsOf = (environment: typeof here) =>
    fieldAt(objectsOf(deploymentStages(environment, place)[0]?.['clusters'])[0], 'canary', 'steps')
  const canaryConfig = { canaryConfigName: 'errors', lifetimeDuration: 'PT300S' }
  assert.deepEqual(stepsOf(here), [{ percent: 20, analysis: { canaryConfig } }])
  assert.deepEqual(stepsOf(withoutCanary(here)), [{ percent: 100, pauseSeconds: 0 }])
})

test('app-scenario 53: a promotion waits for soak time and judgment before the release', () => {
  const [before, here] = readApp(example).environments
  assert.ok(before !== undefined && here !== undefined)
  const compiled = compileEnvironment(here, place, 'digest')
  const deployment = objectsOf(
    compiled.find(({ name }) => name === 'deploy production')?.content['stages'],
  )
  const stages = withConstraints(deployment, {
    here,
    place,
    before: { here: before, place },
    image: 'shop:7-4f7c2d1',
    version: '7-4f7c2d1',
  })
  assert.deepEqual(
    stages.slice(0, 3).map(({ type, requisiteStageRefIds }) => [type, requisiteStageRefIds]),
    [
      ['promote', []],
      ['manualJudgment', ['hold-1']],
      ['runJob', ['hold-2']],
    ],
  )
  assert.deepEqual(fieldOf(stages[1], 'requiredJudgmentRoles'), ['ops'])
})
