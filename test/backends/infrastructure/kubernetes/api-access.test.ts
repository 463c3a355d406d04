/** Access to an API server: certificates, tokens, service accounts, credential plugins, proxies. */
import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  KubeClient,
  type KubeClientOptions,
} from '../../../../packages/providers/kubernetes/api/client.ts'
import type { ClusterAccess } from '../../../../packages/providers/kubernetes/api/cluster-access.ts'
import { inClusterAccess } from '../../../../packages/providers/kubernetes/api/in-cluster.ts'
import { loadKubeconfig } from '../../../../packages/providers/kubernetes/api/kubeconfig.ts'
import { type FakeKubernetes, startFakeKubernetes } from '../../../support/fake-kubernetes.ts'
import { keyPairOf } from '../../../support/self-signed.ts'
import { createFolder } from '../../../support/temporary-folder.ts'

function openClient(
  t: TestContext,
  access: ClusterAccess,
  options: KubeClientOptions = {},
): KubeClient {
  const client = new KubeClient(access, { retries: { maxAttempts: 1, pauseMs: 1 }, ...options })
  t.after(() => client.close())
  return client
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

test('a kubeconfig of the fake API server works', async (t) => {
  const fake = await startFakeKubernetes(t, { tokens: ['t-1'] })
  const access = await loadKubeconfig({ contents: fake.kubeconfig({ token: 't-1' }, 'shop') })

  assert.ok(await openClient(t, access).read('/version'))
  assert.equal(access.namespace, 'shop')
})

test('basic login and impersonation are sent, several groups, too', async (t) => {
  const fake = await startFakeKubernetes(t)
  const contents = fake.kubeconfig({
    username: 'u',
    password: 'p',
    as: 'jane',
    'as-groups': ['dev', 'ops'],
  })

  await openClient(t, await loadKubeconfig({ contents })).read('/version')

  const { headers, httpVersion } = fake.requests[0] ?? {}
  assert.equal(headers?.authorization, `Basic ${base64('u:p')}`)
  assert.equal(headers?.['impersonate-user'], 'jane')
  assert.deepEqual([headers?.['impersonate-group'], httpVersion], ['dev, ops', '1.1'])
})

test('a client certificate is shown to the API server', async (t) => {
  const fake = await startFakeKubernetes(t)
  const { keyPem: key, certificate } = keyPairOf('client', 'ec')

  await openClient(t, { ...fake.access, clientCertificate: { certificate, key } }).read('/version')

  assert.equal(fake.requests[0]?.clientName, 'client')
})

test('an API server of another authority is not trusted', async (t) => {
  const fake = await startFakeKubernetes(t)
  const other = keyPairOf('other', 'ec').certificate

  await assert.rejects(
    openClient(t, { ...fake.access, certificateAuthority: other }).read('/version'),
    {
      status: 0,
      message: /is not trusted; set certificate-authority/,
    },
  )
  await assert.rejects(openClient(t, { ...fake.access, tlsServerName: 'other' }).read('/version'), {
    message: /has another name; set tls-server-name/,
  })
  const trusting = openClient(t, {
    ...fake.access,
    certificateAuthority: other,
    skipsTlsVerification: true,
  })
  assert.ok(await trusting.read('/version'))
})

test('a token file that changes is read again after a 401', async (t) => {
  const fake = await startFakeKubernetes(t, { tokens: ['old'] })
  const file = join(createFolder('kubernetes'), 'token')
  await writeFile(file, 'old\n')
  const client = openClient(t, { ...fake.access, login: { kind: 'token-file', file } })
  await client.read('/version')

  fake.tokens = new Set(['new'])
  await writeFile(file, 'new\n')

  assert.ok(await client.read('/version'))
  assert.equal(fake.requests.length, 3)
})

test('a token file is read again after a minute', async (t) => {
  const fake = await startFakeKubernetes(t)
  const file = join(createFolder('kubernetes'), 'token')
  let nowMs = 0
  const client = openClient(
    t,
    { ...fake.access, login: { kind: 'token-file', file } },
    { now: () => nowMs },
  )
  for (const [token, laterMs] of [
    ['one', 0],
    ['two', 59_000],
    ['three', 1000],
  ] as const) {
    await writeFile(file, token)
    nowMs += laterMs
    await client.read('/version')
  }

  assert.deepEqual(
    fake.requests.map(({ headers }) => headers.authorization),
    ['Bearer one', 'Bearer one', 'Bearer three'],
  )
})

test('a 401 that stays is not repeated again', async (t) => {
  const fake = await startFakeKubernetes(t, { tokens: [] })

  await assert.rejects(
    openClient(t, { ...fake.access, login: { kind: 'token', token: 'secret' } }).read('/version'),
    {
      status: 401,
    },
  )
  assert.equal(fake.requests.length, 1)
})

test('a pod uses its own service account', async (t) => {
  const fake = await startFakeKubernetes(t, { tokens: ['pod'] })
  const folder = createFolder('kubernetes')
  for (const [name, text] of [
    ['token', 'pod'],
    ['ca.crt', fake.certificateAuthority],
    ['namespace', 'apps\n'],
  ] as const) {
    await writeFile(join(folder, name), text)
  }
  const access = await inClusterAccess({ host: '127.0.0.1', port: String(fake.relay.port), folder })

  assert.equal(access.namespace, 'apps')
  assert.ok(await openClient(t, { ...access, tlsServerName: 'kubernetes' }).read('/version'))
})

test('a service account needs a pod', async () => {
  const folder = createFolder('kubernetes')

  await assert.rejects(
    inClusterAccess({ host: undefined, port: undefined, folder }),
    /does not run in a pod/,
  )
  await assert.rejects(
    inClusterAccess({ host: 'h', port: '1', folder }),
    /automountServiceAccountToken/,
  )
})

interface Plugin {
  readonly access: ClusterAccess
  readonly command: string
  /** Times that it has run. */
  readonly runs: () => Promise<number>
}

/** A shell script that prints `status`; `$runs` is how often it has run. */
async function createPlugin(
  fake: FakeKubernetes,
  status: string,
  apiVersion = 'v1',
): Promise<Plugin> {
  const folder = createFolder('kubernetes')
  const command = join(folder, 'login')
  const count = join(folder, 'count')
  const version = `client.authentication.k8s.io/${apiVersion}`
  const body = `printf '{"kind":"ExecCredential","apiVersion":"${version}","status":%s}' "${status.replaceAll('"', '\\"')}"`
  await writeFile(
    command,
    `#!/bin/sh\necho >> ${count}\nruns=$(wc -l < ${count} | tr -d ' ')\n${body}\n`,
  )
  await chmod(command, 0o755)
  const exec = { apiVersion: version, command, args: ['--cluster', 'c'], env: { MODE: 'ci' } }
  return {
    access: { ...fake.access, login: { kind: 'exec', exec } },
    command,
    runs: async () => (await readFile(count, 'utf8')).split('\n').length - 1,
  }
}

for (const apiVersion of ['v1', 'v1beta1']) {
  test(`a plugin of ${apiVersion} gives tokens until they expire`, async (t) => {
    const fake = await startFakeKubernetes(t)
    let nowMs = Date.parse('2026-01-01T00:00:00Z')
    const status = '{"token":"t-$runs-$MODE-$2","expirationTimestamp":"2026-01-01T01:00:00Z"}'
    const { access, command, runs } = await createPlugin(fake, status, apiVersion)
    const client = openClient(t, access, { execCommands: [command], now: () => nowMs })

    await Promise.all([client.read('/version'), client.read('/version')])
    nowMs += 58 * 60_000
    await client.read('/version')
    assert.equal(await runs(), 1)
    nowMs += 61_000
    await client.read('/version')

    assert.equal(await runs(), 2)
    assert.equal(fake.requests[0]?.headers.authorization, 'Bearer t-1-ci-c')
    assert.equal(fake.requests.at(-1)?.headers.authorization, 'Bearer t-2-ci-c')
  })
}

test('a rejected token of a plugin is fetched again, but not at once', async (t) => {
  const fake = await startFakeKubernetes(t, { tokens: ['t-2'] })
  let nowMs = 0
  const { access, command, runs } = await createPlugin(fake, '{"token":"t-$runs"}')
  const client = openClient(t, access, { execCommands: [command], now: () => nowMs })

  await assert.rejects(client.read('/version'), { status: 401 })
  assert.equal(await runs(), 1)
  nowMs += 10_000

  assert.ok(await client.read('/version'))
  assert.equal(await runs(), 2)
})

test('a certificate of a plugin is shown, and its next one over a new connection', async (t) => {
  const fake = await startFakeKubernetes(t)
  let nowMs = Date.parse('2026-01-01T00:00:00Z')
  const [one, two] = [keyPairOf('one', 'ec'), keyPairOf('two', 'ec')]
  const folder = createFolder('kubernetes')
  for (const [name, { keyPem, certificate }] of [
    ['1', one],
    ['2', two],
  ] as const) {
    const status = {
      clientCertificateData: certificate,
      clientKeyData: keyPem,
      expirationTimestamp: `2026-01-0${name}T01:00:00Z`,
    }
    const printed = {
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      status,
    }
    await writeFile(join(folder, name), JSON.stringify(printed))
  }
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/bin/sh',
    args: ['-c', `cd ${folder} && cat next || cat 1`],
    env: {},
  }
  const access: ClusterAccess = { ...fake.access, login: { kind: 'exec', exec } }
  const client = openClient(t, access, { execCommands: ['/bin/sh'], now: () => nowMs })
  await client.read('/version')
  await writeFile(join(folder, 'next'), await readFile(join(folder, '2')))
  nowMs += 3_600_000
  await client.read('/version')

  assert.deepEqual(
    fake.requests.map(({ clientName }) => clientName),
    ['one', 'two'],
  )
})

test('a plugin learns the cluster where it asks for it', async (t) => {
  const fake = await startFakeKubernetes(t)
  const folder = createFolder('kubernetes')
  const script = `printf %s "$KUBERNETES_EXEC_INFO" > ${join(folder, 'asked')}; printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t"}}'`
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'sh',
    args: ['-c', script],
    provideClusterInfo: true,
    interactiveMode: 'Never',
  }
  const access = await loadKubeconfig({ contents: fake.kubeconfig({ exec }) })

  await openClient(t, access, { execCommands: ['sh'] }).read('/version')

  assert.deepEqual(JSON.parse(await readFile(join(folder, 'asked'), 'utf8')), {
    kind: 'ExecCredential',
    apiVersion: 'client.authentication.k8s.io/v1',
    spec: {
      interactive: false,
      cluster: {
        server: fake.url,
        'tls-server-name': 'kubernetes',
        'certificate-authority-data': base64(fake.certificateAuthority),
      },
    },
  })
})

const faultyPlugins: readonly (readonly [title: string, script: string, message: RegExp])[] = [
  [
    'fails',
    'echo secret-token; echo "no credentials in the environment" >&2; exit 3',
    /exit code 3\): no credentials in the environment$/,
  ],
  ['prints no JSON', 'echo secret-token', /did not print an ExecCredential$/],
  [
    'prints another version',
    'echo "{\\"kind\\":\\"ExecCredential\\",\\"apiVersion\\":\\"secret\\"}"',
    /correct the apiVersion/,
  ],
  ['prints without end', 'yes secret-token', /printed more than 1048576 bytes/],
]

for (const [title, script, message] of faultyPlugins) {
  test(`a plugin that ${title} is reported without secrets`, async (t) => {
    const fake = await startFakeKubernetes(t)
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: '/bin/sh',
      args: ['-c', script],
      env: {},
    }
    const client = openClient(
      t,
      { ...fake.access, login: { kind: 'exec', exec } },
      { execCommands: ['/bin/sh'] },
    )

    await assert.rejects(client.read('/version'), (error: Error) => {
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
    assert.equal(fake.requests.length, 0)
  })
}

test('only commands of the settings are run', async (t) => {
  const fake = await startFakeKubernetes(t)
  const { access, command } = await createPlugin(fake, '{"token":"t"}')

  for (const execCommands of [[], ['login'], ['aws']]) {
    await assert.rejects(openClient(t, access, { execCommands }).read('/version'), {
      message: `its kubeconfig runs ${command} for credentials, which is not allowed; add it to kubernetes.exec-commands`,
    })
  }
})

for (const name of ['PATH', 'LD_PRELOAD', 'NODE_OPTIONS']) {
  test(`a kubeconfig cannot set ${name} for its plugin`, async (t) => {
    const fake = await startFakeKubernetes(t)
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: [],
      env: { [name]: '/tmp' },
    }
    const client = openClient(
      t,
      { ...fake.access, login: { kind: 'exec', exec } },
      { execCommands: ['sh'] },
    )

    await assert.rejects(client.read('/version'), {
      message: new RegExp(`sets ${name} for sh, which is not allowed`),
    })
  })
}

test('a command that is not installed is named with its hint', async (t) => {
  const fake = await startFakeKubernetes(t)
  const apiVersion = 'client.authentication.k8s.io/v1'
  const exec = {
    apiVersion,
    command: 'fairlead-no-such-login',
    args: [],
    env: {},
    installHint: 'install it',
  }
  const client = openClient(
    t,
    { ...fake.access, login: { kind: 'exec', exec } },
    { execCommands: [exec.command] },
  )

  await assert.rejects(client.read('/version'), { message: /is not installed: install it$/ })
})

interface Proxy {
  readonly url: string
  readonly asked: string[]
}

async function startProxy(t: TestContext, status = 200): Promise<Proxy> {
  const asked: string[] = []
  const server: Server = createServer()
  server.on('connect', ({ url = '', headers }, socket, head) => {
    asked.push(`${url} ${headers['proxy-authorization'] ?? ''}`)
    if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\n\r\n`)
    const [host, port] = url.split(':')
    const far = connect({ host, port: Number(port) }, () => {
      socket.write('HTTP/1.1 200 OK\r\nvia: proxy\r\n\r\n')
      far.write(head)
      socket.pipe(far).pipe(socket)
    })
    for (const each of [socket, far]) each.on('error', () => {})
    return socket
  })
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  t.after(() => server.close())
  return { url: `http://u:p@127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

test('an API server is reached through a proxy', async (t) => {
  const fake = await startFakeKubernetes(t)
  const proxy = await startProxy(t)
  const client = openClient(t, { ...fake.access, proxyUrl: proxy.url })

  await Promise.all([client.read('/version'), client.read('/version')])

  assert.deepEqual(proxy.asked, [`127.0.0.1:${fake.relay.port} Basic ${base64('u:p')}`])
  assert.equal(fake.requests[0]?.httpVersion, '2.0')
})

test('a proxy that refuses is reported', async (t) => {
  const fake = await startFakeKubernetes(t)
  const proxy = await startProxy(t, 407)

  await assert.rejects(openClient(t, { ...fake.access, proxyUrl: proxy.url }).read('/version'), {
    status: 0,
    message: 'the proxy answered 407 to CONNECT',
  })
})
