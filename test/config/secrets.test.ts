/** Secrets of kork's engines, each from a server of its protocol. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { jwtVerify } from 'jose'
import {
  ConfigError,
  type ConfigPlaces,
  type LoadedConfig,
  loadConfig,
} from '../../packages/app/config/config.ts'
import { signAws } from '../../packages/base/net/aws-signature.ts'
import { formMethod } from '../../packages/gateway/login/form/method.ts'
import { methodSettingsOf } from '../../packages/gateway/login/settings.ts'
import { createAuthority } from '../support/authority.ts'
import { createFolder } from '../support/temporary-folder.ts'

async function listen(
  t: TestContext,
  server: Server & { closeAllConnections(): void },
): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function startStore(t: TestContext, listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(t, createServer(listener))}`
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  return (await request.toArray()).join('')
}

/** Loads a configuration whose one user has this password. */
function loadWith(password: string, places: ConfigPlaces = {}): Promise<LoadedConfig> {
  const cwd = createFolder('secrets')
  const settings = {
    'spring.security.user.name': 'ada',
    'spring.security.user.password': password,
    ...places.settings,
  }
  return loadConfig({ cwd, homeDir: cwd, systemDir: cwd, ...places, settings })
}

async function passwordOf(
  reference: string,
  places: ConfigPlaces = {},
): Promise<string | undefined> {
  return methodSettingsOf((await loadWith(reference, places)).config.login, formMethod)
    ?.configuredUser?.password
}

async function refusalOf(loading: Promise<unknown>): Promise<string> {
  const error = await loading.then(
    () => assert.fail('the configuration loads'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof ConfigError)
  return error.message
}

/** An API server with one secret, and the credentials of a pod. */
async function startKubernetes(t: TestContext): Promise<{ places: ConfigPlaces; calls: string[] }> {
  const authority = await createAuthority('CN=cluster')
  const { cert, key } = await authority.issue({
    subject: 'CN=kubernetes',
    hosts: ['127.0.0.1'],
    usage: 'server',
  })
  const calls: string[] = []
  const server = createTlsServer({ cert, key }, (request, response) => {
    calls.push(`${request.url}`)
    if (request.headers.authorization !== 'Bearer pod-token') return response.writeHead(401).end()
    if (request.url?.endsWith('/forbidden')) return response.writeHead(403).end('{}')
    if (!request.url?.endsWith('/spinnaker/secrets/spin-secrets'))
      return response.writeHead(404).end('{}')
    const data = {
      password: Buffer.from('s3cret-of-pod').toString('base64'),
      'saml.jks': Buffer.from([1, 254, 3]).toString('base64'),
    }
    return response.end(JSON.stringify({ kind: 'Secret', data }))
  })
  const port = await listen(t, server)
  const serviceAccountDir = createFolder('account')
  for (const [name, content] of Object.entries({
    token: 'pod-token\n',
    'ca.crt': authority.certificate,
    namespace: 'spinnaker',
  }))
    writeFileSync(join(serviceAccountDir, name), content)
  const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) }
  return { places: { env, serviceAccountDir }, calls }
}

test('k8s reads a key of a secret as the service account', async (t) => {
  const { places, calls } = await startKubernetes(t)

  assert.equal(await passwordOf('encrypted:k8s!n:spin-secrets!k:password', places), 's3cret-of-pod')
  assert.deepEqual(calls, ['/api/v1/namespaces/spinnaker/secrets/spin-secrets'])
})

test('k8s writes a file that only this user may read', async (t) => {
  const { places } = await startKubernetes(t)
  const reference = 'encryptedFile:k8s!n:spin-secrets!k:saml.jks'

  const path = (await passwordOf(reference, places)) as string

  assert.match(path, /-saml\.jks$/)
  assert.deepEqual([...readFileSync(path)], [1, 254, 3])
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700)
  assert.equal(await passwordOf(reference, places), path, 'a further reading replaces the file')
})

test('k8s says which permission, secret, key or credential is missing', async (t) => {
  const { places } = await startKubernetes(t)
  const refusal = (reference: string, others: ConfigPlaces = {}) =>
    refusalOf(loadWith(reference, { ...places, ...others }))

  const start =
    /^given settings: spring\.security\.user\.password: the secret engine "k8s" has no value: /
  assert.match(await refusal('encrypted:k8s!n:spin-secrets!k:pass'), start)
  assert.match(
    await refusal('encrypted:k8s!n:spin-secrets!k:pass'),
    /has no key "pass"; its keys are password, saml\.jks$/,
  )
  assert.match(
    await refusal('encrypted:k8s!n:forbidden!k:a'),
    /answers 403; let a Role .* "get" for the secret "forbidden"/,
  )
  assert.match(
    await refusal('encrypted:k8s!n:spin-secrets!k:a!ns:other'),
    /404; create the secret .* of the namespace "other"/,
  )
  assert.match(
    await refusal('encrypted:k8s!n:spin-secrets'),
    /the key is missing; write it as !k:…$/,
  )
  assert.match(
    await refusal('encrypted:k8s!n:a!k:b', { env: {} }),
    /KUBERNETES_SERVICE_HOST is not set/,
  )
  assert.match(
    await refusal('encrypted:k8s!n:a!k:b', { serviceAccountDir: '/nowhere' }),
    /automountServiceAccountToken/,
  )
})

test('k8s trusts the authority of the cluster alone', async (t) => {
  const { places } = await startKubernetes(t)
  writeFileSync(
    join(places.serviceAccountDir as string, 'ca.crt'),
    (await createAuthority('CN=other')).certificate,
  )

  assert.match(
    await refusalOf(loadWith('encrypted:k8s!n:spin-secrets!k:password', places)),
    /cannot be reached \(\w+\)/,
  )
})

test('file reads a mounted file, or a key of YAML as it is spelled', async () => {
  const [plain, yaml] = ['plain', 'all.yml'].map((name) => join(createFolder('mounted'), name)) as [
    string,
    string,
  ]
  writeFileSync(plain, 'from file\n')
  writeFileSync(yaml, 'db:\n  password: 0123\n')

  assert.equal(await passwordOf(`encrypted:file!f:${plain}`), 'from file')
  assert.equal(await passwordOf(`encrypted:file!f:${yaml}!k:db.password`), '0123')
  assert.match(
    await refusalOf(loadWith('encrypted:file!f:/nowhere/x')),
    /\/nowhere\/x cannot be read \(ENOENT\)/,
  )
  assert.match(
    await refusalOf(loadWith(`encrypted:file!f:${yaml}!k:db.user`)),
    /no value at the key "db\.user"/,
  )
})

const aws = {
  AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}

test('calls to AWS are signed as its example is', () => {
  const { authorization } = signAws({
    url: new URL('https://examplebucket.s3.amazonaws.com/test.txt'),
    service: 's3',
    region: 'us-east-1',
    body: '',
    credentials: { accessKeyId: aws.AWS_ACCESS_KEY_ID, secretAccessKey: aws.AWS_SECRET_ACCESS_KEY },
    now: new Date('2013-05-24T00:00:00Z'),
    headers: { range: 'bytes=0-9' },
  })
  assert.match(authorization ?? '', /SignedHeaders=host;range;x-amz-content-sha256;x-amz-date/)
  assert.match(
    authorization ?? '',
    /Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41$/,
  )
})

test('s3 reads a key of a YAML object from the given endpoint', async (t) => {
  const seen: string[] = []
  const endpoint = await startStore(t, ({ url, headers }, response) => {
    seen.push(
      `${url} ${headers.authorization?.split(',', 1)[0]} ${headers['x-amz-security-token']}`,
    )
    if (url !== '/vault/dir%20x/all.yml') return response.writeHead(404).end()
    return response.end('github:\n  password: s3cret-object\n')
  })
  const env = { ...aws, AWS_SESSION_TOKEN: 'session', AWS_ENDPOINT_URL_S3: endpoint }
  const reference = 'encrypted:s3!r:eu-west-1!b:vault!f:dir x/all.yml!k:github.password'

  assert.equal(await passwordOf(reference, { env }), 's3cret-object')
  assert.match(
    seen[0] ?? '',
    /AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/\d{8}\/eu-west-1\/s3\/aws4_request session$/,
  )
  assert.match(
    await refusalOf(loadWith('encrypted:s3!r:a!b:vault!f:x!k:y', { env })),
    /S3 .* answers 404; the bucket "vault"/,
  )
  assert.match(await refusalOf(loadWith(reference)), /engine "s3" .*AWS_ACCESS_KEY_ID is not set/)
})

test('a pod of AWS reads secrets as its role', async (t) => {
  const endpoint = await startStore(t, async (request, response) => {
    const body = await bodyOf(request)
    if (request.headers['x-amz-target'] === undefined) {
      const form = new URLSearchParams(body)
      assert.deepEqual(
        [form.get('Action'), form.get('RoleSessionName')],
        ['AssumeRoleWithWebIdentity', 'fairlead'],
      )
      if (form.get('WebIdentityToken') !== 'token of the pod')
        return response.writeHead(400).end('<Error/>')
      const credentials =
        '<AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>key+/=</SecretAccessKey><SessionToken>short</SessionToken>'
      return response.end(
        `<AssumeRoleWithWebIdentityResponse>${credentials}</AssumeRoleWithWebIdentityResponse>`,
      )
    }
    assert.match(
      request.headers.authorization ?? '',
      /Credential=ASIA1\/\d{8}\/us-west-2\/secretsmanager\//,
    )
    assert.equal(request.headers['x-amz-security-token'], 'short')
    return response.end(JSON.stringify({ SecretString: 's3cret-of-role' }))
  })
  const file = join(createFolder('irsa'), 'token')
  writeFileSync(file, 'token of the pod\n')
  const role = 'arn:aws:iam::1:role/spin'
  const env = { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role, AWS_ENDPOINT_URL: endpoint }
  const reference = 'encrypted:secrets-manager!r:us-west-2!s:spin'

  assert.equal(await passwordOf(reference, { env }), 's3cret-of-role')
  writeFileSync(file, 'another token')
  const refused = await refusalOf(loadWith(reference, { env }))
  assert.match(
    refused,
    /STS .* answers 400; let the trust policy of the role arn:aws:iam::1:role\/spin/,
  )
  assert.doesNotMatch(refused, /another token/)
  const missing = { ...env, AWS_WEB_IDENTITY_TOKEN_FILE: '/nowhere/token' }
  assert.match(
    await refusalOf(loadWith(reference, { env: missing })),
    /\/nowhere\/token, cannot be read \(ENOENT\)/,
  )
})

test('secrets-manager reads a key, or the whole secret', async (t) => {
  const endpoint = await startStore(t, async (request, response) => {
    assert.equal(request.headers['x-amz-target'], 'secretsmanager.GetSecretValue')
    const { SecretId } = JSON.parse(await bodyOf(request)) as { SecretId: string }
    if (SecretId !== 'spin')
      return response.writeHead(400).end('{"__type":"ResourceNotFoundException"}')
    return response.end(JSON.stringify({ SecretString: '{"pw":"s3cret-manager"}' }))
  })
  const places = { env: { ...aws, AWS_ENDPOINT_URL: endpoint } }

  assert.equal(
    await passwordOf('encrypted:secrets-manager!r:us-west-2!s:spin!k:pw', places),
    's3cret-manager',
  )
  assert.equal(
    await passwordOf('encrypted:secrets-manager!r:us-west-2!s:spin', places),
    '{"pw":"s3cret-manager"}',
  )
  assert.match(
    await refusalOf(loadWith('encrypted:secrets-manager!r:us-west-2!s:none', places)),
    /400; correct the name "none"/,
  )
  assert.match(
    await refusalOf(loadWith('encrypted:secrets-manager!r:us-west-2!s:spin!k:x', places)),
    /has no key "x"/,
  )
})

test('gcs exchanges a key file for a token and reads the object', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const endpoint = await startStore(t, async (request, response) => {
    if (request.url === '/token') {
      const form = new URLSearchParams(await bodyOf(request))
      const { payload } = await jwtVerify(form.get('assertion') ?? '', publicKey, {
        audience: `${endpoint}/token`,
      })
      return response.end(JSON.stringify({ access_token: `token of ${payload.iss}` }))
    }
    const isAllowed = request.headers.authorization === 'Bearer token of spin@example'
    if (!isAllowed || request.url !== '/storage/v1/b/vault/o/dir%2Fpassword?alt=media')
      return response.writeHead(403).end()
    return response.end('s3cret-google')
  })
  const file = join(createFolder('google'), 'key.json')
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(
    file,
    JSON.stringify({ client_email: 'spin@example', private_key, token_uri: `${endpoint}/token` }),
  )
  const env = { STORAGE_EMULATOR_HOST: endpoint, GOOGLE_APPLICATION_CREDENTIALS: file }

  assert.equal(await passwordOf('encrypted:gcs!b:vault!f:dir/password', { env }), 's3cret-google')
  assert.match(
    await refusalOf(loadWith('encrypted:gcs!b:vault!f:x', { env })),
    /403; allow the account storage\.objects\.get/,
  )
})

test('gcs takes the token of the machine without a key file', async (t) => {
  const metadata = await startStore(t, ({ headers }, response) => {
    response.writeHead(headers['metadata-flavor'] === 'Google' ? 404 : 500).end()
  })
  const env = { GCE_METADATA_HOST: new URL(metadata).host }

  assert.match(
    await refusalOf(loadWith('encrypted:gcs!b:vault!f:x', { env })),
    /404; give the machine or the pod a service account/,
  )
})

test('an engine that Fairlead does not have is refused with another way', async () => {
  assert.match(
    await refusalOf(loadWith('encrypted:vault!e:secret!p:spin!k:pw')),
    /engine "vault" .* encrypted:file!f:path!k:key/,
  )
  assert.match(
    await refusalOf(loadWith('encrypted:none!k:pw')),
    /none of noop, file, k8s, s3, gcs, secrets-manager; write/,
  )
})

test('no message quotes the value of a secret, whatever its setting', async () => {
  const settings = {
    'services.orca.baseUrl': 'encrypted:noop!v:hunter22',
    'server.port': 'encrypted:noop!v:80b',
  }

  const message = await refusalOf(loadWith('encrypted:noop!v:correct horse', { settings }))

  assert.match(message, /services\.orca\.baseUrl: must be an absolute address/)
  assert.match(message, /server\.port: must be a number$/m)
  assert.doesNotMatch(message, /hunter22|80b/)
})

test('the summary of a check hides secrets in addresses', async () => {
  const settings = { 'services.orca.baseUrl': 'encrypted:noop!v:http://hidden.example:1' }

  const { summary, config } = await loadWith('x', { settings })

  assert.equal(config.upstreams.services.orca.baseUrl, 'http://hidden.example:1')
  assert.match(summary, /orca: \*\*\*/)
})

test('secrets of settings that nothing reads are not fetched', async () => {
  const settings = { 'providers.kubernetes.kubeconfigFile': 'encryptedFile:k8s!n:none!k:none' }
  assert.equal(await passwordOf('plain', { settings }), 'plain')
})

test('a reference may come from a variable or another key', async () => {
  const env = { OWN_SECRET: 'encrypted:noop!v:from variable' }
  assert.equal(await passwordOf('$'.concat('{OWN_SECRET}'), { env }), 'from variable')
})
