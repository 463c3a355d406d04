/** Kubeconfigs: clusters and logins of their contexts, and what is wrong with them. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  KubeconfigError,
  loadKubeconfig,
} from '../../../../packages/providers/kubernetes/api/kubeconfig.ts'
import { keyPairOf } from '../../../support/self-signed.ts'
import { createFolder } from '../../../support/temporary-folder.ts'

const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'
const base64 = (text: string) => Buffer.from(text).toString('base64')

const twoContexts = `
apiVersion: v1
kind: Config
current-context: test
clusters:
- name: one
  cluster: {server: "https://one.example.test:6443/base/", certificate-authority-data: ${base64(pem)}, tls-server-name: api}
- name: two
  cluster: {server: "http://127.0.0.1:8001", insecure-skip-tls-verify: true, certificate-authority-data: ${base64(pem)}}
users:
- name: token
  user: {token: t-1, as: jane, as-groups: [dev], as-user-extra: {scopes: [view]}}
- name: basic
  user: {username: u, password: p}
contexts:
- name: test
  context: {cluster: one, user: token, namespace: shop}
- name: other
  context: {cluster: two, user: basic}
- name: broken
  context: {cluster: gone, user: basic}
`

test('a kubeconfig gives the cluster and login of its current context', async () => {
  assert.deepEqual(await loadKubeconfig({ contents: twoContexts }), {
    server: 'https://one.example.test:6443/base',
    certificateAuthority: pem,
    tlsServerName: 'api',
    skipsTlsVerification: false,
    login: { kind: 'token', token: 't-1' },
    impersonation: { user: 'jane', uid: undefined, groups: ['dev'], extra: { scopes: ['view'] } },
    namespace: 'shop',
  })
})

test('another context of a kubeconfig may be chosen', async () => {
  assert.deepEqual(await loadKubeconfig({ contents: twoContexts, context: 'other' }), {
    server: 'http://127.0.0.1:8001',
    skipsTlsVerification: true,
    login: { kind: 'basic', username: 'u', password: 'p' },
    namespace: 'default',
  })
})

test('files of a kubeconfig are found beside it', async () => {
  const folder = createFolder('kubernetes')
  const { keyPem, certificate } = keyPairOf('client', 'ec')
  for (const [name, text] of Object.entries({
    'ca.crt': pem,
    'client.crt': certificate,
    'client.key': keyPem,
  })) {
    await writeFile(join(folder, name), text)
  }
  const file = join(folder, 'config')
  await writeFile(
    file,
    JSON.stringify({
      'current-context': 'c',
      clusters: [
        { name: 'c', cluster: { server: 'https://c', 'certificate-authority': 'ca.crt' } },
      ],
      users: [
        {
          name: 'u',
          user: {
            'client-certificate': './client.crt',
            'client-key': 'client.key',
            tokenFile: 'token',
          },
        },
      ],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    }),
  )

  const access = await loadKubeconfig({ file, contents: 'the file wins' })

  assert.deepEqual(access.clientCertificate, { certificate, key: keyPem })
  assert.deepEqual(
    [access.certificateAuthority, access.login],
    [pem, { kind: 'token-file', file: join(folder, 'token') }],
  )
})

const parts = {
  'current-context': 'c',
  clusters: [{ name: 'c', cluster: { server: 'https://c' } }],
  users: [{ name: 'u', user: { token: 'secret' } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
}

const faulty: readonly (readonly [
  title: string,
  contents: string,
  context: string | undefined,
  message: RegExp,
])[] = [
  [
    'an unknown context',
    twoContexts,
    'gone',
    /context "gone": there is no such context; set context to one of "test", "other"/,
  ],
  [
    'an unknown cluster',
    twoContexts,
    'broken',
    /context "broken": its cluster "gone" is not in clusters/,
  ],
  ['no context', 'clusters: []', undefined, /no context is chosen/],
  ['no YAML', 'token: "secret', undefined, /^kubeconfigContents is no well-formed YAML$/],
  ['no object', 'secret', undefined, /is no kubeconfig/],
  [
    'a server without scheme',
    withCluster({ server: 'one:6443' }),
    undefined,
    /must begin with https/,
  ],
  [
    'a SOCKS proxy',
    withCluster({ server: 'https://c', 'proxy-url': 'socks5://p:1' }),
    undefined,
    /SOCKS proxies are not supported/,
  ],
  [
    'a relative path without file',
    withCluster({ server: 'https://c', 'certificate-authority': 'ca.crt' }),
    undefined,
    /absolute path/,
  ],
  [
    'a missing file',
    withCluster({ server: 'https://c', 'certificate-authority': '/gone/ca.crt' }),
    undefined,
    /\/gone\/ca.crt cannot be read \(ENOENT\)/,
  ],
  [
    'an authority that is no PEM',
    withCluster({ server: 'https://c', 'certificate-authority-data': 'eHg=' }),
    undefined,
    /holds no PEM/,
  ],
  [
    'a certificate without key',
    withUser({ 'client-certificate-data': base64(pem) }),
    undefined,
    /has a client-certificate and no client-key/,
  ],
  [
    'an auth provider',
    withUser({ 'auth-provider': { name: 'gcp' } }),
    undefined,
    /auth-provider "gcp"/,
  ],
  [
    'an old plugin',
    withUser({ exec: { command: 'aws', apiVersion: 'client.authentication.k8s.io/v1alpha1' } }),
    undefined,
    /v1alpha1/,
  ],
]

function withCluster(cluster: object): string {
  return JSON.stringify({ ...parts, clusters: [{ name: 'c', cluster }] })
}

function withUser(user: object): string {
  return JSON.stringify({ ...parts, users: [{ name: 'u', user }] })
}

for (const [title, contents, context, message] of faulty) {
  test(`a kubeconfig with ${title} is rejected in plain words`, async () => {
    await assert.rejects(loadKubeconfig({ contents, context }), (error) => {
      assert.ok(error instanceof KubeconfigError)
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
  })
}
