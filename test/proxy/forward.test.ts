/** The loop of attempts, without servers: what each failure leads to. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Forward, type RetryDecision, type Wait } from '../../packages/proxy/forward.ts'

interface Server {
  readonly name: string
}

const one: Server = { name: 'one' }
const two: Server = { name: 'two' }
const again: RetryDecision = { retryMs: 0 }

/** Notes what happens in words. @param decisions After the failures, in turn; none is left: no retry */
function follow(servers: readonly Server[], decisions: RetryDecision[], wait?: Wait<Server>) {
  const steps: string[] = []
  const forward = new Forward<Server, string>({
    choose({ tried, number, waits }) {
      const free = servers.find((server) => !tried.includes(server))
      steps.push(`choose ${number}`)
      return free ?? (waits === 0 ? wait : undefined)
    },
    send: ({ name }) => void steps.push(`send ${name}`),
    decideRetry: () => decisions.shift() ?? { retryMs: undefined },
    leave: ({ name }) => void steps.push(`leave ${name}`),
    giveUp: (reason) => void steps.push(`give up ${reason}`),
  })
  forward.attempt()
  return { forward, steps }
}

test('a failure goes on with another server, and counts', () => {
  const { forward, steps } = follow([one, two], [again])
  forward.fail('broken')
  forward.fail('broken again')
  assert.deepEqual(steps, [
    'choose 1',
    'send one',
    'leave one',
    'choose 2',
    'send two',
    'leave two',
    'give up broken again',
  ])
})

test('a failure of a kept connection tries the same server, and one that cost nothing does not count', () => {
  const { forward, steps } = follow([one], [{ ...again, mayBeSame: true, isFree: true }, again])
  forward.fail('closed')
  forward.fail('refused')
  assert.deepEqual(steps.slice(3), [
    'choose 1',
    'send one',
    'leave one',
    'choose 2',
    'give up undefined',
  ])
})

test('after a wait every server may be tried again', () => {
  let proceed = (_server?: Server) => {}
  const { forward, steps } = follow([one], [again], (then) => {
    proceed = then
    return () => {}
  })
  forward.fail('refused')
  assert.equal(forward.isWaiting, true)
  proceed()
  assert.equal(forward.isWaiting, false)
  assert.deepEqual(steps.slice(2), ['leave one', 'choose 2', 'choose 2', 'send one'])
})

test('a request whose client has gone away waits no longer', () => {
  let stops = 0
  const { forward, steps } = follow([], [], () => () => void stops++)
  forward.abandon()
  assert.deepEqual([stops, forward.isWaiting, steps], [1, false, ['choose 1']])
})

test('nothing fails that no server has', () => {
  const { forward, steps } = follow([one], [again])
  forward.leave()
  forward.fail('late')
  assert.deepEqual(steps, ['choose 1', 'send one', 'leave one'])
})
