/** Every setting that names a file is looked at before anything starts, and so is what a start meets on the machine. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test, { type TestContext } from 'node:test'
import { z } from 'zod'
import { settingGroups } from '../../packages/app/config/capabilities.ts'
import { coreOf, notesOf } from '../../packages/app/config/schema-shape.ts'
import { findStartObstacles } from '../../packages/app/doctor/start-obstacles.ts'
import { lockDataDir } from '../../packages/app/hosting/lock.ts'
import { keyPairOf } from '../support/self-signed.ts'
import { load, problemsOf } from './given.ts'

const registration = 'spring.security.saml2.relyingparty.registration.x'
const oauth = 'spring.security.oauth2.client'
const tls = { 'server.ssl.certificate': 'FILE', 'server.ssl.certificate-private-key': 'FILE' }
const good = {
  'server.ssl.certificate': 'CERTIFICATE',
  'server.ssl.certificate-private-key': 'KEY',
  'server.ssl.client-auth': 'want',
}
const saml = { 'saml.enabled': true }
const asserting = {
  'entity-id': 'https://idp.example',
  'singlesignon.url': 'https://idp.example/sso',
}
const party = (name: string) =>
  Object.fromEntries(
    Object.entries(asserting).map(([key, value]) => [`${registration}.${name}.${key}`, value]),
  )

/** What has to be set besides, so that the setting counts. Where two belong together, both name the file. */
const companions: Readonly<Record<string, Record<string, unknown>>> = {
  'local.front.acme.ca-file': {
    local: { front: { acme: { email: 'you@example.com', 'ca-file': 'FILE' } } },
  },
  'local.front.certificates.0.certificate': {
    local: { front: { certificates: [{ certificate: 'FILE', key: 'KEY' }] } },
  },
  'local.front.certificates.0.key': {
    local: { front: { certificates: [{ certificate: 'CERTIFICATE', key: 'FILE' }] } },
  },
  'server.ssl.certificate': tls,
  'server.ssl.certificate-private-key': tls,
  'server.ssl.key-store': {},
  'server.ssl.trust-certificate': good,
  'server.ssl.trust-store': good,
  'server.ssl.crlFile': { ...good, 'server.ssl.trust-certificate': 'CERTIFICATE' },
  'redis.tls.caFile': { 'redis.connection': 'rediss://r.example' },
  'redis.tls.certificateFile': {
    'redis.connection': 'rediss://r.example',
    'redis.tls.privateKeyFile': 'FILE',
  },
  'redis.tls.privateKeyFile': {
    'redis.connection': 'rediss://r.example',
    'redis.tls.certificateFile': 'FILE',
  },
  'local.accounts.0.ca-file': { 'local.accounts': [{ name: 'x', 'ca-file': 'FILE' }] },
  'ldap.caFile': {
    'ldap.enabled': true,
    'ldap.url': 'ldaps://l.example/dc=x',
    'ldap.userDnPattern': 'uid={0}',
  },
  'ui.logo': {},
  'secrets.key-file': {},
  'secrets.vault.ca-file': {
    'secrets.vault.address': 'https://vault.example',
    'secrets.vault.token': 'x',
  },
  'mail.ca-file': {
    'mail.enabled': true,
    'mail.from': 'cd@shop.example',
    'spring.mail.host': 'mail.shop.example',
  },
  'spring.security.oauth2.client.registration.x.private-key-location': {
    'security.oauth2.enabled': true,
    [`${oauth}.registration.x.client-id`]: 'gate',
    [`${oauth}.registration.x.client-authentication-method`]: 'private_key_jwt',
    [`${oauth}.provider.x.authorization-uri`]: 'https://p.example/a',
    [`${oauth}.provider.x.token-uri`]: 'https://p.example/t',
    [`${oauth}.provider.x.user-info-uri`]: 'https://p.example/u',
  },
  'saml.metadataUrl': saml,
  'saml.keyStore': { ...saml, 'saml.metadataUrl': 'https://idp.example/m' },
  'saml.signingCredentials.0.privateKeyLocation': {
    ...saml,
    'saml.metadataUrl': 'https://idp.example/m',
    'saml.signingCredentials': [{ privateKeyLocation: 'FILE', certificateLocation: 'FILE' }],
  },
  'saml.signingCredentials.0.certificateLocation': {
    ...saml,
    'saml.metadataUrl': 'https://idp.example/m',
    'saml.signingCredentials': [{ privateKeyLocation: 'FILE', certificateLocation: 'FILE' }],
  },
  ...Object.fromEntries(
    (['signing', 'decryption'] as const).flatMap((use) =>
      (['private-key-location', 'certificate-location'] as const).map((name) => [
        `${registration}.${use}.credentials.0.${name}`,
        {
          ...saml,
          [`${registration}.assertingparty.metadata-uri`]: 'https://idp.example/m',
          [`${registration}.${use}.credentials`]: [
            { 'private-key-location': 'FILE', 'certificate-location': 'FILE' },
          ],
        },
      ]),
    ),
  ),
  ...Object.fromEntries(
    (['assertingparty', 'identityprovider'] as const).flatMap((name) => [
      [`${registration}.${name}.metadata-uri`, saml],
      [
        `${registration}.${name}.verification.credentials.0.certificate-location`,
        {
          ...saml,
          ...party(name),
          [`${registration}.${name}.verification.credentials`]: [
            { 'certificate-location': 'FILE' },
          ],
        },
      ],
    ]),
  ),
  ...Object.fromEntries(
    ['certificate-file', 'key-file'].map((name) => [
      `local.certificates.0.${name}`,
      {
        'local.certificates': [
          { name: 'x', 'certificate-file': 'CERTIFICATE', 'key-file': 'KEY', [name]: 'FILE' },
        ],
      },
    ]),
  ),
  'auth.group-membership.file.path': { 'auth.group-membership.service': 'file' },
  'auth.group-membership.ldap.caFile': {
    'auth.group-membership.service': 'ldap',
    'auth.group-membership.ldap.url': 'ldaps://l.example/dc=x',
    'auth.group-membership.ldap.groupSearchBase': 'ou=groups',
  },
  'backends.tls.keyStore': {},
  'backends.tls.trustStore': {},
  'okHttpClient.keyStore': {},
  'okHttpClient.trustStore': {},
  'server.ssl.bundle': {},
  'gitlab-ci.masters.0.trustStore': {
    'gitlab-ci.enabled': true,
    'gitlab-ci.masters': [
      { name: 'lab', address: 'https://lab.example', projects: ['shop/web'], trustStore: 'FILE' },
    ],
  },
  ...Object.fromEntries(
    ['github-actions.hosts', 'gitea-actions.hosts'].map((hosts) => [
      `${hosts}.0.trustStore`,
      {
        [hosts]: [
          {
            name: 'hub',
            address: 'https://hub.example',
            repositories: ['shop/web'],
            trustStore: 'FILE',
          },
        ],
      },
    ]),
  ),
  ...Object.fromEntries(
    ['keyStore', 'trustStore'].flatMap((store) => [
      [
        `proxies.0.${store}`,
        { proxies: [{ id: 'wiki', uri: 'https://wiki.example', [store]: 'FILE' }] },
      ],
      [
        `proxies.0.${store}PasswordFile`,
        {
          proxies: [
            {
              id: 'wiki',
              uri: 'https://wiki.example',
              [store]: 'FILE',
              [`${store}PasswordFile`]: 'FILE',
            },
          ],
        },
      ],
    ]),
  ),
  ...Object.fromEntries(
    ['keyStore', 'trustStore'].map((store) => [
      `jenkins.masters.0.${store}`,
      {
        jenkins: {
          enabled: true,
          masters: [{ name: 'ci', address: 'https://ci.example', [store]: 'FILE' }],
        },
      },
    ]),
  ),
}

/** Mention files, and name none that has to exist. */
const others: Readonly<Record<string, string>> = {
  'auth.group-membership.service': 'chooses among sources',
  'backends.copy': 'is an address, where Litestream creates what it needs',
  'audit.sink': 'chooses among destinations',
  'audit.file': 'is created; see the obstacles of a start',
  'data.dir': 'is created; see the obstacles of a start',
  'bakery.local.templates.0.image.container.archive.file':
    'is a file of the baked package; a bake without it names it',
  'bakery.local.templates.0.image.container.files': 'is a path within the container',
  'builds.local.repositories.0.file': 'is a file of a repository',
  'secrets.files.directory': 'is a directory, whose files are read when they are used',
  'secrets.vault.token-file': 'is read for the first login',
  'secrets.vault.kubernetes.token-file': 'is read for the first login',
  'bakery.manifests.helmfile': 'is a program, which may be installed later',
  'job.preconfigured.kubernetes.0.propertyFile': 'names a container',
  'local.front.acme.profile': 'is a name of the authority',
  'kayenta.file.accounts.0.folder': 'is a directory, whose files are read when they are used',
  'kayenta.prometheus.accounts.0.usernamePasswordFile':
    'is read for each query, which names what is wrong',
  'kubernetes.accounts.0.kubeconfigContents': 'is the content itself',
  'kubernetes.accounts.0.kubeconfigFile':
    'is read for the first request; `check` and `doctor` examine it, and no cluster stops a start',
}

function* textKeys(
  key: string,
  schema: z.core.$ZodType,
): Generator<[key: string, description: string]> {
  const { effect, description = '' } = notesOf(schema)
  const core = coreOf(schema)
  if (effect === 'none') return
  if (core instanceof z.ZodArray) yield* textKeys(`${key}.0`, core.element)
  else if (core instanceof z.ZodRecord) yield* textKeys(`${key}.x`, core.valueType)
  else if (core instanceof z.ZodObject)
    for (const [name, inner] of Object.entries(core.shape)) yield* textKeys(`${key}.${name}`, inner)
  else if (core instanceof z.ZodString) yield [key, description]
}

test('every setting that names a file rejects an unusable one', async (t) => {
  const folder = folderOf(t)
  const garbage = join(folder, 'garbage')
  writeFileSync(garbage, 'nothing that anybody could use')
  const { certificate, keyPem } = keyPairOf('gateway', 'ec')
  const sound = { CERTIFICATE: join(folder, 'gateway.pem'), KEY: join(folder, 'gateway.key') }
  writeFileSync(sound.CERTIFICATE, certificate)
  writeFileSync(sound.KEY, keyPem)
  const files = {
    'that is missing': join(folder, 'none'),
    'that is garbage': garbage,
    'that is a directory': folder,
  }
  const shapes = Object.values(settingGroups).flatMap(({ shape }) =>
    Object.entries(shape as Record<string, z.ZodType>),
  )
  const named = shapes
    .flatMap(([key, schema]) => [...textKeys(key, schema)])
    .filter(
      ([key, description]) =>
        /\bfiles?\b|\bPEM\b|PKCS|\bdirectory (?:that|for)\b/i.test(description) ||
        /(?:file|location|store|logo)$/i.test(key),
    )
    .map(([key]) => key)
    // Files of artifact accounts are read for each fetch, which names what is wrong.
    .filter((key) => !/acs\.location$|Header$|^artifacts\./.test(key))
  assert.deepEqual(named.sort(), [...Object.keys(companions), ...Object.keys(others)].sort())

  for (const key of Object.keys(companions)) {
    for (const [what, file] of Object.entries(files)) {
      const besides = JSON.parse(
        Object.entries({ ...sound, FILE: file }).reduce(
          (text, [name, path]) => text.replaceAll(`"${name}"`, JSON.stringify(path)),
          JSON.stringify(companions[key]),
        ),
      )
      // An element of a list is set with the list.
      const settings = key.includes('.0.') ? besides : { [key]: file, ...besides }
      const problems = await problemsOf(t, {
        settings: { 'anonymous.enabled': false, ...settings },
      })
      const place = key.replace(/\.verification\..*|\.0\..*|-private-key$/, '')
      assert.ok(
        problems.some((problem) => problem.includes(place)),
        `${key}, a file ${what}: ${problems.join('\n') || 'nothing is wrong'}`,
      )
    }
  }
})

test('the directory of packages is no file', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'shop.tar')
  writeFileSync(file, '')
  const about = (path: string) => problemsOf(t, { settings: { 'bakery.local.packages': path } })
  assert.match((await about(file)).join('\n'), /bakery\.local\.packages.*shop\.tar is no directory/)
  await load(t, { settings: { 'bakery.local.packages': folder } })
  await load(t, { settings: { 'bakery.local.packages': join(folder, 'later') } })
})

test('a user of an account must exist on this machine', async (t) => {
  const about = (user: string) =>
    problemsOf(t, { settings: { local: { accounts: [{ name: 'prod', user }] } } })
  assert.match(
    (await about('no-such-user')).join('\n'),
    /local\.accounts.*"prod".*no user "no-such-user"; create it, or correct user/,
  )
  await load(t, {
    settings: { local: { accounts: [{ name: 'prod', user: userInfo().username }] } },
  })
})

for (const written of ['npm ci', ['npm ci']]) {
  test(`a step whose program is ${JSON.stringify(written)} is reported`, async (t) => {
    const settings = (run: unknown, command: unknown) => ({
      settings: {
        bakery: { local: { templates: [{ id: 'site', steps: [{ run }], image: { command } }] } },
      },
    })
    const problems = await problemsOf(t, settings(written, written))
    assert.match(
      problems.join('\n'),
      /templates.*steps.*run: must be a list of the program and each argument.*use shell/,
    )
    assert.match(
      problems.join('\n'),
      /templates.*image.*command: must be a list of the program and each argument/,
    )
    await load(t, settings(['npm', 'ci'], ['/opt/my tools/serve']))
  })
}

test('obstacles of a start are found without any change', async (t) => {
  const folder = folderOf(t)
  const obstaclesOf = async (settings: Record<string, unknown>) => {
    const { config } = await load(t, {
      settings: { 'server.port': 0, 'server.address': '127.0.0.1', ...settings },
    })
    return findStartObstacles(config)
  }
  const rows: [
    title: string,
    prepare: () => Record<string, unknown>,
    expected: RegExp | undefined,
    passing?: boolean,
  ][] = [
    ['nothing yet', () => ({ 'data.dir': join(folder, 'new', 'dir') }), undefined],
    [
      'a data directory that is a file',
      () => {
        writeFileSync(join(folder, 'a-file'), '')
        return { 'data.dir': join(folder, 'a-file') }
      },
      /data directory .* cannot be written: .* is no directory/,
    ],
    [
      'a data directory below a file',
      () => ({ 'data.dir': join(folder, 'a-file', 'below') }),
      /cannot be written/,
    ],
    [
      'a database that is none',
      () => {
        mkdirSync(join(folder, 'broken'))
        writeFileSync(
          join(folder, 'broken', 'users.db'),
          'no database at all, but long enough to be looked at as one'.repeat(20),
        )
        return { 'data.dir': join(folder, 'broken') }
      },
      /users\.db cannot be used: it is damaged, or no database\. Restore/,
    ],
    [
      'a data directory of the kernel',
      () => ({ 'data.dir': '/proc/x' }),
      /\/proc\/x cannot be written: \/proc.* stores no files/,
    ],
    [
      'a database of a newer version',
      () => {
        mkdirSync(join(folder, 'newer'))
        const db = new DatabaseSync(join(folder, 'newer', 'backends.db'))
        db.exec(
          "CREATE TABLE schema_versions (owner TEXT PRIMARY KEY, version INTEGER); INSERT INTO schema_versions VALUES ('orca', 999)",
        )
        db.close()
        return { 'data.dir': join(folder, 'newer') }
      },
      /newer\/backends\.db was written by a newer version: orca has schema 999.* use another data directory/,
    ],
    [
      'another gateway',
      () => {
        mkdirSync(join(folder, 'locked'))
        const lock = lockDataDir(join(folder, 'locked'))
        t.after(() => lock.close())
        return { 'data.dir': join(folder, 'locked') }
      },
      /Another Fairlead uses the data directory/,
      true,
    ],
    [
      'a password that is too short',
      () => ({ 'data.dir': join(folder, 'new'), 'fairlead.admin.password': 'x' }),
      /first administrator .* A password has/,
    ],
    [
      'an audit log that is a directory',
      () => ({
        'data.dir': join(folder, 'new'),
        audit: { enabled: true, sink: 'file', file: folder },
      }),
      /audit log .* it is no regular file/,
    ],
    [
      'an address of another machine',
      () => ({
        'data.dir': join(folder, 'new'),
        'server.address': '192.0.2.1',
        'server.port': 18_084,
      }),
      /This machine does not have the address 192\.0\.2\.1\. Correct server\.address/,
    ],
  ]
  for (const [title, prepare, expected, passing = false] of rows) {
    const settings = prepare()
    const before = readdirSync(folder, { recursive: true }).sort()
    const found = await obstaclesOf(settings)
    assert.deepEqual(readdirSync(folder, { recursive: true }).sort(), before, title)
    if (expected === undefined) assert.deepEqual(found, [], title)
    else assert.match(found.map(({ text }) => text).join('\n'), expected, title)
    assert.ok(
      found.every((one) => one.passing === passing),
      title,
    )
  }
})

test('a port in use is not a lasting obstacle', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  const { config } = await load(t, {
    settings: {
      'server.port': port,
      'server.address': '127.0.0.1',
      'data.dir': join(folderOf(t), 'new'),
    },
  })

  assert.deepEqual(await findStartObstacles(config), [
    {
      text: `Port ${port} is in use. Stop what listens there, or set server.port (SERVER_PORT).`,
      passing: true,
    },
  ])
})

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-files-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
