/** Settings of ACME: which authority is used, and for which hosts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FrontSite } from '../../../../packages/base/net/agent-protocol.ts'
import { settings } from '../../../../packages/base/settings/setting.ts'
import { certificateHostsOf } from '../../../../packages/providers/local/certificates/open-certificates.ts'
import {
  acmeKeys,
  toAcmeSettings,
} from '../../../../packages/providers/local/certificates/settings.ts'

function read(given: Record<string, unknown>) {
  const group = settings(acmeKeys)
  const keys = Object.entries(given).map(([key, value]) => [`local.front.acme.${key}`, value])
  const problems: string[] = []
  const report = {
    problem: (key: string, message: string) => problems.push(`${key}: ${message}`),
    notice: () => {},
    isSet: () => false,
  }
  const found = toAcmeSettings(group.read(group.keys.parse(Object.fromEntries(keys))), report)
  return { directory: found?.directory, problems }
}

const email = 'ops@example.com'

for (const [what, given, directory, problem] of [
  ['nothing set orders nothing', {}, undefined, undefined],
  [
    'an email means Let’s Encrypt',
    { email },
    /^https:\/\/acme-v02\.api\.letsencrypt\.org/,
    undefined,
  ],
  ['staging has a name', { directory: 'letsencrypt-staging' }, /staging/, undefined],
  [
    'half a binding is an error',
    { email, 'binding.kid': 'k' },
    /./,
    /binding: kid and hmac belong/,
  ],
  ['DNS-01 needs a hook', { email, challenge: 'dns-01' }, /./, /dns\.hook: is needed/],
  ['roots that cannot be read', { email, 'ca-file': '/none.pem' }, /./, /ca-file: .*none\.pem/],
] as const) {
  test(`settings of certificates: ${what}`, () => {
    const found = read(given)

    assert.match(found.directory ?? '', directory ?? /^$/)
    assert.match(found.problems.join(), problem ?? /^$/)
  })
}

test('nothing is ordered for names of an own certificate (app-scenario 113)', () => {
  /** What says nothing about hosts is left out. */
  const toSite = (loadBalancer: string, hosts: readonly string[]) =>
    ({
      loadBalancer,
      rules: hosts.map((host) => ({ host, path: '/', strip: false })),
      redirects: [],
    }) as unknown as FrontSite
  const files = { certificateFile: '/c', keyFile: '/k' }
  const sites = [toSite('a', ['a.shop.example', 'shop.example']), toSite('b', ['b.example'])]

  const hosts = certificateHostsOf({
    fronts: [{ id: 'local', address: '::', httpPort: 80, httpsPort: 443, sites }],
    certificates: [
      { hosts: ['*.shop.example'], ...files, isWatched: true },
      { hosts: ['b.example'], ...files },
    ],
  })

  assert.deepEqual(hosts, [
    { host: 'shop.example', service: 'a' },
    { host: 'b.example', service: 'b' },
  ])
})
