/** Versions of what applications have are asked for when something may have changed, and for all listeners at once. */
import assert from 'node:assert/strict'
import test from 'node:test'
import pino from 'pino'
import { PartChanges } from '../../packages/gateway/live/part-changes.ts'
import type { ApplicationPart } from '../../packages/gateway/live/source.ts'
import { ownTraits, spinnakerTraits } from '../../packages/gateway/upstreams/service-traits.ts'
import type { StateCounts, UpstreamCall } from '../../packages/gateway/upstreams/upstream-call.ts'
import type { Upstreams } from '../../packages/gateway/upstreams/upstreams.ts'

interface Services {
  /** Undefined: they are not counted. */
  counts: StateCounts | undefined
  fails: boolean
  readonly versions: Map<string, string>
  /** Applications of each call to the infrastructure. */
  readonly calls: (readonly string[])[]
}

function openPartChanges(embedded = ['clouddriver']) {
  const services: Services = { counts: [0, 0, 0], fails: false, versions: new Map(), calls: [] }
  const call = async (_service: string, { query = {} }: UpstreamCall) => {
    const applications = query['application'] as readonly string[]
    services.calls.push(applications)
    if (services.fails) throw new Error('It restarts.')
    const text = JSON.stringify(applications.map((name) => services.versions.get(name) ?? 'first'))
    return { status: 200, headers: { 'content-type': 'application/json' }, text }
  }
  const upstreams = {
    call,
    traitsOf: (service: string) => (embedded.includes(service) ? ownTraits : spinnakerTraits),
  } as unknown as Upstreams
  const changes = new PartChanges({
    upstreams,
    counts: () => services.counts,
    pollMs: 2000,
    log: pino({ level: 'silent' }),
  })
  const told: string[] = []
  let nowMs = 0
  return {
    changes,
    services,
    told,
    watch: (application: string) =>
      changes.watch(application, (part: ApplicationPart) => told.push(`${application} ${part}`)),
    /** A second later. */
    look: async () => {
      nowMs += 1000
      changes.look(nowMs)
      await new Promise(setImmediate)
    },
  }
}

test('services are asked when their count has changed, and only a new version is reported', async () => {
  const { services, told, watch, look } = openPartChanges()
  await look()
  watch('web')
  watch('shop')
  await look()
  await look()
  assert.deepEqual(services.calls, [['web', 'shop']], 'once for all, and not again')
  services.counts = [1, 1, 0]
  await look()
  assert.equal(services.calls.length, 1, 'other services have changed')
  services.counts = [1, 1, 1]
  services.versions.set('shop', 'second')
  await look()
  await look()
  assert.equal(services.calls.length, 2)
  assert.deepEqual(told, ['shop infrastructure'])
})

test('a change before the first version is reported', async () => {
  const { services, told, watch, look } = openPartChanges()
  watch('web')
  services.counts = [0, 0, 1]
  await look()
  assert.deepEqual(told, ['web infrastructure'])
})

test('a service that fails is asked again later', async () => {
  const { services, told, watch, look } = openPartChanges()
  watch('web')
  await look()
  services.fails = true
  services.counts = [0, 0, 1]
  services.versions.set('web', 'second')
  await look()
  services.fails = false
  for (let seconds = 0; seconds < 4; seconds++) await look()
  assert.equal(services.calls.length, 2)
  await look()
  assert.equal(services.calls.length, 3)
  assert.deepEqual(told, ['web infrastructure'])
})

test('where changes are not counted, services are asked at intervals', async () => {
  const { services, told, watch, look } = openPartChanges()
  services.counts = undefined
  watch('web')
  for (let seconds = 0; seconds < 6; seconds++) await look()
  assert.equal(services.calls.length, 3)
  assert.deepEqual(
    told,
    ['web infrastructure'],
    'nothing is known of the time before the first version',
  )
})

test('many applications are asked for in several calls', async () => {
  const { services, watch, look } = openPartChanges()
  for (let index = 0; index < 150; index++) watch(`app${index}`)
  await look()
  assert.deepEqual(
    services.calls.map(({ length }) => length),
    [100, 50],
  )
})

test('nothing is asked without listeners, nor of external services', async () => {
  const { services, changes, watch, look } = openPartChanges([])
  assert.deepEqual(changes.parts, [])
  const end = watch('web')
  await look()
  end()
  const embedded = openPartChanges()
  embedded.watch('web')()
  await embedded.look()
  assert.deepEqual([...services.calls, ...embedded.services.calls], [])
})
