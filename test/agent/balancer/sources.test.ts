import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shownAddress, toSources } from '../../../packages/agent/balancer/sources.ts'

const networks = ['10.0.0.0/8', 'fe80::/10']
const addresses: [address: string | undefined, isAllowed: boolean][] = [
  ['10.1.2.3', true],
  ['::ffff:10.1.2.3', true],
  ['11.1.2.3', false],
  ['fe80::1%eth0', true],
  ['2001:db8::1', false],
  ['', false],
  [undefined, false],
]

for (const [address, isAllowed] of addresses) {
  test(`${address} ${isAllowed ? 'may' : 'may not'} connect`, () => {
    assert.equal(toSources(networks)(shownAddress(address)), isAllowed)
  })
}
