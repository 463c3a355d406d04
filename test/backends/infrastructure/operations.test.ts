/** Operations of the provider `local`: names, checks, permissions, security groups, hostile images. Server groups are empty here. */
import assert from 'node:assert/strict'
import fs, { readdirSync, readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Header } from 'tar'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { ImageFile } from '../../../packages/ports/image-file.ts'
import { unpackArchive } from '../../../packages/providers/images/unpack.ts'
import { toProgram, toProgramView } from '../../../packages/providers/local/program.ts'
import {
  followTask,
  packImage,
  somePorts,
  startInfrastructure,
  type TestInfrastructure,
  writeCertificate,
} from '../../support/infrastructure.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { waitUntil } from '../../support/wait-until.ts'

const place = { credentials: 'dev', region: 'east', cloudProvider: 'local' }
const none = { min: 0, max: 0, desired: 0 }

async function localSettings(t: TestContext): Promise<JsonObject> {
  const account = (name: string, ports: string) => ({
    name,
    ports,
    regions: [{ name: 'east', zones: ['east-a'] }],
  })
  return {
    accounts: [account('dev', await somePorts(t, 10)), account('prod', '64030-64039')],
    'images.max-size': '100000',
    'images.max-files': 50,
  }
}

/** Name of the new server group. */
async function createGroup(
  infra: TestInfrastructure,
  stack: string,
  more: JsonObject = {},
): Promise<string> {
  const description = {
    ...place,
    application: 'shop',
    stack,
    imageId: 'shop:1.0.0',
    capacity: none,
    ...more,
  }
  const { resultObjects } = await infra.succeed({ createServerGroup: description })
  return Object.values(
    (resultObjects as JsonObject[]).at(-1)!['serverGroupNameByRegion'] as JsonObject,
  )[0] as string
}

/** The errors of a request that is refused before anything runs; a judgement of it has the same. */
async function refusal(
  infra: TestInfrastructure,
  operation: string,
  description: JsonObject,
  user?: string,
): Promise<string> {
  const operations = [{ [operation]: { ...place, ...description } }]
  const { status, body } = await infra.ask('POST', '/local/ops', operations, user)
  assert.equal(status, 400, JSON.stringify(body))
  const { errors } = body as { errors: string[] }
  assert.deepEqual(await infra.preview(operations, user), errors)
  return errors.join(' ')
}

test('operations are checked before they run', async (t) => {
  const infra = await startInfrastructure(t, {
    local: await localSettings(t),
    ownPorts: [64_030, 64_050],
  })
  await infra.putImage('shop', '1.0.0')

  await t.test(
    'infrastructure-scenarios 134, 135, 136, 137: names follow the newest server group',
    async () => {
      assert.equal(await createGroup(infra, '', { freeFormDetails: 'eu-1' }), 'shop--eu-1-v000')
      assert.equal(await createGroup(infra, 'r', { sequence: 999 }), 'shop-r-v999')
      assert.equal(await createGroup(infra, 'r'), 'shop-r-v000')
      assert.equal(await createGroup(infra, 'q', { sequence: 0 }), 'shop-q-v000')
      assert.equal(await createGroup(infra, 'q', { sequence: 999 }), 'shop-q-v999')
      assert.equal(await createGroup(infra, 'q'), 'shop-q-v001')
      for (const sequence of [3, 1]) await createGroup(infra, 'p', { sequence })
      assert.equal(await createGroup(infra, 'p'), 'shop-p-v002')
      assert.equal(await createGroup(infra, 'p'), 'shop-p-v004')
      assert.equal(await createGroup(infra, 'p', { ignoreSequence: true }), 'shop-p')
    },
  )

  await t.test(
    'infrastructure-scenarios 138, 139, 140: wrong descriptions are refused in words',
    async () => {
      const wrong: [description: JsonObject, says: RegExp][] = [
        [{ application: 'shop', stack: 'bad stack', imageId: 'shop:1.0.0' }, /bad stack/],
        [
          { application: 'shop', stack: 'x'.repeat(5000), imageId: 'shop:1.0.0' },
          /5010 characters; 255 are allowed/,
        ],
        [{ application: 'shop', stack: 'v012', imageId: 'shop:1.0.0' }, /number of a server group/],
        [
          { application: 'shop', imageId: 'shop:1.0.0', capacity: { min: 3, max: 2, desired: 2 } },
          /capacity.*min 3/,
        ],
        [{ application: 'shop', imageId: 'shop:1.0.0', capacity: { min: 'x' } }, /capacity.min/],
        [
          { application: 'shop', imageId: 'shop:1.0.0', capacity: { desired: -1 } },
          /capacity.desired/,
        ],
        [
          {
            application: 'shop',
            imageId: 'shop:1.0.0',
            capacity: { min: '', max: '', desired: '' },
          },
          /capacity.desired/,
        ],
        [{ application: 'shop' }, /imageId: it is missing/],
        [{ application: 'shop', imageId: 'shop:9' }, /shop:9.*does not exist/],
        [{ imageId: 'shop:1.0.0' }, /application: it is missing/],
        [
          { application: 'shop', imageId: 'shop:1.0.0', region: 'north' },
          /no region "north"; it has east/,
        ],
        [
          { application: 'shop', imageId: 'shop:1.0.0', loadBalancers: ['lost'] },
          /"lost" does not exist/,
        ],
        [
          { application: 'shop', imageId: 'shop:1.0.0', instanceType: 'huge' },
          /"huge" is none of small/,
        ],
        [
          { application: 'shop', imageId: 'shop:1.0.0', env: { 'A B': 'x' } },
          /env\.A B: a variable has letters, digits and "_" only/,
        ],
        [
          { application: 'shop', imageId: 'shop:1.0.0', credentials: 'nope' },
          /account "nope" does not exist/,
        ],
      ]
      for (const [description, says] of wrong)
        assert.match(await refusal(infra, 'createServerGroup', description), says)
      assert.match(await refusal(infra, 'upsertScalingPolicy', {}), /no automatic scaling/)
      assert.match(
        await refusal(infra, 'disableServerGroup', {
          serverGroupName: 'a-v000',
          desiredPercentage: 101,
        }),
        /desiredPercentage.*at most 100/,
      )
      assert.match(
        await refusal(infra, 'terminateInstances', { instanceIds: ['i-1', ' '] }),
        /instanceIds.1/,
      )
      assert.match(await refusal(infra, 'noSuchOperation', {}), /noSuchOperation/)
    },
  )

  await t.test('infrastructure-scenario 180: a capacity of the source needs a source', async () => {
    const description = {
      ...place,
      application: 'shop',
      stack: 'first',
      imageId: 'shop:1.0.0',
      source: { useSourceCapacity: true },
    }
    const task = await infra.run({ createServerGroup: description })
    assert.match(
      JSON.stringify(task['resultObjects']),
      /capacity must be given for the first deployment/,
    )
  })

  await t.test('infrastructure-scenario 166: a request that is sent twice runs once', async () => {
    const body = [
      {
        createServerGroup: {
          ...place,
          application: 'shop',
          stack: 'once',
          imageId: 'shop:1.0.0',
          capacity: none,
        },
      },
    ]
    const [first, second] = await Promise.all(
      [1, 2].map(() => infra.ask('POST', '/local/ops?clientRequestId=retry', body)),
    )
    assert.deepEqual(first, second)
    await followTask((path) => infra.read(path), String((first!.body as JsonObject)['id']))
    const { serverGroups } = await infra.read('/applications/shop/clusters/dev/shop-once/local')
    assert.equal((serverGroups as unknown[]).length, 1)
  })

  await t.test('one wrong operation keeps all of a request from running', async () => {
    const good = {
      createServerGroup: {
        ...place,
        application: 'shop',
        stack: 'all',
        imageId: 'shop:1.0.0',
        capacity: none,
      },
    }
    assert.equal(
      (await infra.ask('POST', '/local/ops', [good, { destroyServerGroup: { ...place } }])).status,
      400,
    )
    assert.equal((await infra.ask('GET', '/applications/shop/clusters/dev/shop-all')).status, 404)
  })

  await t.test(
    'infrastructure-scenarios 163, 164: rules of security groups are added, replaced and kept while used',
    async () => {
      const upsert = (name: string, more: JsonObject) =>
        infra.succeed({ upsertSecurityGroup: { ...place, name, description: 'd', ...more } })
      const rule = (cidr: string) => ({ cidr, startPort: 80, endPort: 80, type: 'tcp' })
      const cidrs = async () => {
        const { inboundRules } = await infra.read('/securityGroups/dev/local/east/shop-fw2')
        return (inboundRules as { range: { ip: string } }[]).map(({ range }) => range.ip)
      }
      await upsert('shop-fw2', { ipIngress: [rule('10.1.0.0/16')] })
      await upsert('shop-fw2', { ipIngress: [rule('10.2.0.0/16')], ingressAppendOnly: true })
      assert.deepEqual(await cidrs(), ['10.1.0.0', '10.2.0.0'])
      await upsert('shop-fw2', { ipIngress: [rule('10.3.0.0/16')] })
      assert.deepEqual(await cidrs(), ['10.3.0.0'])
      await upsert('shop-user', {
        securityGroupIngress: [{ name: 'shop-fw2', startPort: 1, endPort: 2 }],
      })
      const task = await infra.run({
        deleteSecurityGroup: { ...place, securityGroupName: 'shop-fw2', regions: ['east'] },
      })
      assert.match(JSON.stringify(task['resultObjects']), /in use by the security group shop-user/)
      assert.match(
        await refusal(infra, 'upsertSecurityGroup', {
          name: 'x',
          description: 'd',
          ipIngress: [rule('10.0.0.0/33')],
        }),
        /10.0.0.0\/33/,
      )
    },
  )

  await t.test('listeners take no ports of others', async () => {
    const listen = (externalPort: number) => ({
      name: 'shop-x',
      listeners: [{ externalProtocol: 'HTTP', externalPort }],
    })
    assert.match(
      await refusal(infra, 'upsertLoadBalancer', listen(64_035)),
      /64035 belongs to the instances of the account prod/,
    )
    assert.match(
      await refusal(infra, 'upsertLoadBalancer', listen(64_050)),
      /64050 belongs to Fairlead/,
    )
    assert.match(
      await refusal(infra, 'upsertLoadBalancer', { name: 'shop-x' }),
      /listeners: it is missing/,
    )
    const https = { name: 'shop-x', listeners: [{ externalProtocol: 'HTTPS', externalPort: 8443 }] }
    assert.match(await refusal(infra, 'upsertLoadBalancer', https), /sslCertificateId/)
    const listeners = Array.from({ length: 101 }, (_each, index) => ({
      externalProtocol: 'HTTP',
      externalPort: 20_000 + index,
    }))
    assert.match(
      await refusal(infra, 'upsertLoadBalancer', { name: 'shop-x', listeners }),
      /101 entries; 100 are allowed/,
    )
  })

  await t.test('an image in use is kept', async () => {
    assert.equal((await infra.ask('DELETE', '/local/images/shop/1.0.0')).status, 409)
  })

  await t.test('entity tags are merged by name', async () => {
    const entityRef = {
      cloudProvider: 'local',
      entityType: 'ServerGroup',
      entityId: 'shop-r-v000',
      account: 'dev',
      region: 'east',
    }
    const upsert = (name: string, value: string) =>
      infra.ask('POST', '/ops', [{ upsertEntityTags: { entityRef, tags: [{ name, value }] } }])
    for (const [name, value] of [
      ['A', '1'],
      ['B', '2'],
      ['a', '3'],
    ] as const) {
      const { body } = await upsert(name, value)
      await followTask((path) => infra.read(path), String((body as JsonObject)['id']))
    }
    const [found] = await infra.read<JsonObject[]>('/tags?entityId=shop-r-v000&tag:a=3')
    assert.equal(found!['id'], 'local:servergroup:shop-r-v000:dev:east')
    assert.deepEqual(
      (found!['tags'] as JsonObject[]).map(({ name, value }) => [name, value]),
      [
        ['b', '2'],
        ['a', '3'],
      ],
    )

    const many = (count: number) =>
      Array.from({ length: count }, (_each, index) => ({ name: `n${index}`, value: '1' }))
    const upsertAll = (tags: JsonObject[]) =>
      infra.ask('POST', '/ops', [{ upsertEntityTags: { entityRef, tags } }])
    const refused = await upsertAll(many(1001))
    assert.equal(refused.status, 400)
    assert.match(String((refused.body as JsonObject)['message']), /1001 entries; 1000 are allowed/)
    const { body } = await upsertAll(many(999))
    const { status } = await followTask(
      (path) => infra.read(path),
      String((body as JsonObject)['id']),
    )
    assert.match(String((status as JsonObject)['status']), /would have 1001 tags; 1000 are allowed/)
    assert.equal((await infra.read<JsonObject[]>('/tags?tag:n0=*')).length, 0)

    const bulky = (id: string) => ({
      entityRef: { ...entityRef, entityId: id },
      tags: [{ name: 'x', value: 'v'.repeat(260_000) }],
    })
    const submit = async (operation: JsonObject) => {
      const { body } = await infra.ask('POST', '/ops', [operation])
      const task = await followTask((path) => infra.read(path), String((body as JsonObject)['id']))
      return String((task['status'] as JsonObject)['status'])
    }
    const tooLong = { ...bulky('bulky'), tags: [{ name: 'x', value: 'ä'.repeat(131_072) }] }
    assert.match(
      await submit({ upsertEntityTags: tooLong }),
      /would have 26\d{4} bytes; 262144 are allowed/,
    )
    const entityTags = Array.from({ length: 33 }, (_each, index) => bulky(`bulky-${index}`))
    assert.match(
      await submit({ bulkUpsertEntityTags: { entityTags } }),
      /all entities would have more than 8388608 bytes/,
    )
    assert.equal((await infra.read<JsonObject[]>('/tags?tag:x=*')).length, 0)
  })
})

test('readers see no password in addresses and commands', async () => {
  const image = ImageFile.parse({ command: ['node', 'a.mjs'] })
  const environment = { DATABASE_URL: 'postgres://shop:pa55-word@db:5432/shop', MODE: 'fast' }
  const command = ['serve', '--key=k3y-value', 'https://u:pw-2@host/x', 'http://host/a:b@c']
  const program = toProgram(image, { command, environment, secrets: { API: 'k3y-value' } })
  const shown = toProgramView(program)
  assert.deepEqual(shown['command'], [
    'serve',
    '--key=******',
    'https://u:******@host/x',
    'http://host/a:b@c',
  ])
  const masked = {
    DATABASE_URL: 'postgres://shop:******@db:5432/shop',
    MODE: 'fast',
    API: '******',
  }
  assert.deepEqual(shown['environment'], masked)

  const sentBack = {
    command: shown['command'] as string[],
    environment: { ...masked, MODE: 'slow' },
  }
  const clone = toProgram(image, sentBack, program)
  assert.deepEqual(
    [clone.command, clone.environment],
    [command, { ...program.environment, MODE: 'slow' }],
  )
})

test('no instance gets a port of Fairlead', async (t) => {
  const { accounts } = await localSettings(t)
  const [dev, prod] = accounts as [JsonObject, JsonObject]
  const infra = await startInfrastructure(t, {
    local: { accounts: [dev, { ...prod, ports: '64040-64041' }] },
    ownPorts: [64_040, 64_041],
  })
  await infra.putImage('shop', '1.0.0')
  const one = { min: 1, max: 1, desired: 1 }
  const description = {
    ...place,
    account: 'prod',
    credentials: 'prod',
    application: 'shop',
    imageId: 'shop:1.0.0',
    capacity: one,
  }
  const task = await infra.run({ createServerGroup: description })
  assert.match(JSON.stringify(task), /has 0 free ports in 64040-64041/)
})

test('infrastructure-scenario 168: operations without WRITE are refused with the name of the account', async (t) => {
  const infra = await startInfrastructure(t, {
    local: await localSettings(t),
    authorization: true,
    others: async (_service, { path }) => {
      if (!path.startsWith('/authorize/')) return { status: 404, body: {} }
      const accounts = [
        { name: 'dev', authorizations: ['READ', 'WRITE'] },
        { name: 'prod', authorizations: ['READ'] },
      ]
      const applications = [{ name: 'vault', authorizations: [] }]
      return {
        status: 200,
        body: { accounts, applications, allowAccessToUnknownApplications: true },
      }
    },
  })
  const prod = { credentials: 'prod', serverGroupName: 'shop-v000' }
  assert.match(
    await refusal(infra, 'resizeServerGroup', prod, 'bob'),
    /^Access denied to account prod\b/,
  )
  assert.equal(
    await refusal(infra, 'destroyServerGroup', { serverGroupName: 'vault-v000' }, 'bob'),
    'Access denied to application vault',
  )
  const spaced: [name: string, description: JsonObject, denied: string][] = [
    ['destroyServerGroup', { serverGroupName: ' vault-v000' }, 'application vault'],
    ['createServerGroup', { application: 'vault ' }, 'application vault'],
    ['cloneServerGroup', { source: { asgName: '\tvault-v000' } }, 'application vault'],
    [
      'cloneServerGroup',
      { source: { account: ' prod', serverGroupName: 'shop-v000' } },
      'account prod',
    ],
  ]
  for (const [name, description, denied] of spaced)
    assert.ok(
      (await refusal(infra, name, description, 'bob')).startsWith(`Access denied to ${denied}`),
    )
  const read = await infra.ask('GET', '/applications/vault/serverGroups', undefined, 'bob')
  assert.deepEqual(
    [read.status, (read.body as JsonObject)['message']],
    [403, 'Access denied to application vault: bob has no READ.'],
  )
  const unnamed = await infra.ask('GET', '/applications/vault/serverGroups', undefined, 'anonymous')
  assert.match(
    String((unnamed.body as JsonObject)['message']),
    /: anonymous has no READ\. .* runAsUser\.$/,
  )
  const upload = await infra.ask('PUT', '/local/images/shop/1?accounts=prod', 'x', 'bob')
  assert.equal(upload.status, 403)
})

test('a certificate serves the load balancers of its accounts only', async (t) => {
  const { files } = writeCertificate(t)
  const certificates = [{ name: 'shop', ...files, accounts: ['prod'] }]
  const infra = await startInfrastructure(t, {
    local: { ...(await localSettings(t)), certificates },
  })
  const listeners = [{ externalProtocol: 'HTTPS', externalPort: 8443, sslCertificateId: 'shop' }]
  const upsert = { ...place, name: 'shop-x', listeners }

  assert.match(
    await refusal(infra, 'upsertLoadBalancer', upsert),
    /one of local\.certificates, which has none for this account\.$/,
  )
  const errors = await infra.preview([{ upsertLoadBalancer: { ...upsert, credentials: 'prod' } }])
  assert.deepEqual(errors, [])
  const listed = (await infra.ask('GET', '/certificates/local')).body as JsonObject[]
  assert.deepEqual(
    listed.map(({ accountName }) => accountName),
    ['prod'],
  )
})

test('slow uploads keep others from none of their places', async (t) => {
  const infra = await startInfrastructure(t, { local: await localSettings(t) })
  const body = new Uint8Array(await packImage('1'))
  const going = Promise.withResolvers<void>()
  const upload = (name: string, user: string, rest = going.promise) =>
    fetch(`${infra.backends.url('clouddriver')}/local/images/${name}/1`, {
      method: 'PUT',
      body: (async function* () {
        yield body.subarray(0, 10)
        await rest
        yield body.subarray(10)
      })() as unknown as ReadableStream,
      duplex: 'half',
      headers: { 'content-type': 'application/x-tar', 'x-spinnaker-user': user },
    } as RequestInit)
  const slow = Array.from({ length: 20 }, (_, index) => upload(`shop-${index}`, 'alice'))
  const left = () =>
    readdirSync(join(infra.dataDir, 'images')).filter((name) => name.startsWith('.new-'))
  const refused = await Promise.race(slow)
  await waitUntil(() => left().length === 16, 'those that are received')
  const quick = await upload('quick', 'bob', Promise.resolve())
  const leftThen = left()
  going.resolve()

  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5'])
  assert.deepEqual([quick.status, leftThen.length], [201, 16])
  const statuses = (await Promise.all(slow)).map(({ status }) => status).sort()
  assert.deepEqual(statuses, [...Array(16).fill(201), ...Array(4).fill(429)])
  assert.deepEqual(left(), [])
})

test('hostile archives are refused and leave nothing behind', async (t) => {
  const infra = await startInfrastructure(t, { local: await localSettings(t) })
  const put = async (body: Buffer, headers: Record<string, string> = {}) => {
    const url = `${infra.backends.url('clouddriver')}/local/images/evil/1`
    const answer = await fetch(url, {
      method: 'PUT',
      body: new Uint8Array(body),
      headers: { 'content-type': 'application/x-tar', ...headers },
    })
    return {
      status: answer.status,
      message: String(((await answer.json()) as JsonObject)['message']),
    }
  }
  const file = Buffer.from('command: [sh]\n')
  const entry = (path: string, fields: JsonObject = {}, content = file) => {
    const type = (fields['type'] as 'File' | undefined) ?? 'File'
    const header = new Header({
      path,
      mode: 0o644,
      size: type === 'File' ? content.length : 0,
      ...fields,
      type,
    })
    const block = Buffer.alloc(512)
    header.encode(block)
    const padding = Buffer.alloc((512 - (content.length % 512)) % 512)
    return type === 'File' ? Buffer.concat([block, content, padding]) : block
  }
  const archive = (...entries: Buffer[]) => Buffer.concat([...entries, Buffer.alloc(1024)])
  const image = entry('fairlead-image.yml')
  const rows: [title: string, body: Buffer, says: RegExp][] = [
    ['a path that leads out', archive(image, entry('../escaped')), /"..\/escaped" lies outside/],
    ['an absolute path', archive(image, entry('/tmp/escaped')), /lies outside/],
    ['many folders', archive(image, entry(`${'d/'.repeat(101)}a`)), /more than 100 folders/],
    ['a file as a folder', archive(image, entry('a'), entry('a/b')), /a\/b.* its place is taken/],
    [
      'a link that leads out',
      archive(image, entry('passwd', { type: 'SymbolicLink', linkpath: '../../../etc/passwd' })),
      /leads out/,
    ],
    [
      'a link below a link that leads out',
      archive(
        image,
        entry('up', { type: 'SymbolicLink', linkpath: '../../..' }),
        entry('up/in', { type: 'SymbolicLink', linkpath: 'x' }),
      ),
      /"up" cannot be a link/,
    ],
    [
      'a file below a link that leads out',
      archive(image, entry('up', { type: 'SymbolicLink', linkpath: '../../..' }), entry('up/in')),
      /"up" cannot be a link/,
    ],
    [
      'a link below a file',
      archive(image, entry('fairlead-image.yml/in', { type: 'SymbolicLink', linkpath: 'x' })),
      /"fairlead-image.yml\/in" cannot be a link/,
    ],
    [
      'a link to an absolute path',
      archive(image, entry('passwd', { type: 'SymbolicLink', linkpath: '/etc/passwd' })),
      /absolute path/,
    ],
    [
      'a hard link to the outside',
      archive(image, entry('passwd', { type: 'Link', linkpath: '../../backends.db' })),
      /no file of it/,
    ],
    [
      'a way out over two links',
      archive(
        image,
        entry('a/b/', { type: 'Directory' }),
        entry('a/b/up', { type: 'SymbolicLink', linkpath: '../..' }),
        entry('out', { type: 'SymbolicLink', linkpath: 'a/b/up/..' }),
      ),
      /leads out/,
    ],
    ['a device', archive(image, entry('disk', { type: 'BlockDevice' })), /BlockDevice/],
    [
      'too much content',
      archive(image, entry('big', {}, Buffer.alloc(200_000))),
      /more than \d+ bytes/,
    ],
    [
      'too many names of one file',
      archive(
        image,
        entry('big', {}, Buffer.alloc(40_000)),
        ...['a', 'b', 'c'].map((path) => entry(path, { type: 'Link', linkpath: 'big' })),
      ),
      /more than \d+ bytes/,
    ],
    [
      'too many files',
      archive(image, ...Array.from({ length: 60 }, (_, index) => entry(`f${index}`))),
      /more than 50 entries/,
    ],
    [
      'too many folders',
      archive(image, entry(`${'d/'.repeat(48)}f`), entry('e/f')),
      /more than 50 entries/,
    ],
    [
      'zeros behind the end',
      gzipSync(Buffer.concat([archive(image), Buffer.alloc(5_000_000)])),
      /more than \d+ bytes/,
    ],
    [
      'zeros in a second member',
      Buffer.concat([gzipSync(archive(image)), gzipSync(Buffer.alloc(5_000_000))]),
      /more than \d+ bytes/,
    ],
    ['gzip within gzip', gzipSync(gzipSync(archive(image))), /compressed twice/],
    ['half of a compressed archive', gzipSync(archive(image)).subarray(0, 60), /unexpected end/],
    ['no archive', Buffer.from('hello '.repeat(500)), /archive/i],
    ['nothing', Buffer.alloc(0), /archive/],
    ['no description', archive(entry('server.mjs')), /no fairlead-image.yml/],
    [
      'a wrong description',
      archive(entry('fairlead-image.yml', {}, Buffer.from('comand: [sh]\n'))),
      /comand|command/,
    ],
  ]
  for (const [title, body, says] of rows) {
    await t.test(title, async () => {
      const { status, message } = await put(body)
      assert.ok(status === 400 || status === 413, `${status} ${message}`)
      assert.match(message, says)
    })
  }
  await t.test('links through links are kept, whatever their order', async (t) => {
    const folder = createFolder('links')
    t.after(() => removeFolder(folder))
    const link = (path: string, linkpath: string) => entry(path, { type: 'SymbolicLink', linkpath })
    const links = [
      link('bin/run', '../current/run'),
      link('current', 'releases/2'),
      link('twice', 'a'),
      entry('twice'),
    ]
    const content = archive(
      link('bin/early', '../current/run'),
      ...links,
      entry('releases/2/run'),
      link('twice', 'bin/run'),
    )
    await unpackArchive(Readable.from([content]), folder, { maxBytes: 10_000, maxEntries: 20 })
    for (const path of ['bin/early', 'bin/run', 'twice'])
      assert.equal(readFileSync(join(folder, path), 'utf8'), String(file))
  })
  const unpackBig = async (t: TestContext) => {
    const folder = createFolder('big')
    t.after(() => removeFolder(folder))
    const big = Buffer.alloc(300_000, 'x')
    const content = archive(entry('big', {}, big), entry('small'))
    await unpackArchive(Readable.from([content]), folder, { maxBytes: 1_000_000, maxEntries: 10 })
    assert.deepEqual(readFileSync(join(folder, 'big')), big)
  }
  await t.test('a write of a part is completed', async (t) => {
    const write = fs.writeSync
    replaceInFs(t, 'writeSync', (file, bytes, at = 0) =>
      write(file, bytes, at, Math.min(1000, bytes.length - at)),
    )
    await unpackBig(t)
  })
  await t.test('a full disk is said, and no file is closed twice', async (t) => {
    const [write, close] = [fs.writeSync, fs.closeSync]
    const closed: number[] = []
    replaceInFs(t, 'closeSync', (file) => {
      closed.push(file)
      close(file)
    })
    replaceInFs(t, 'writeSync', (file, bytes, at) => {
      if (bytes.length < 1000) return write(file, bytes, at)
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    })
    await assert.rejects(unpackBig(t), /disk of the data directory is full/)
    assert.equal(closed.length, 1)
  })
  await t.test('what follows the end is neither kept nor copied', async (t) => {
    let copied = 0
    const concat = Buffer.concat.bind(Buffer)
    t.mock.method(Buffer, 'concat', (...[list, length]: Parameters<typeof Buffer.concat>) => {
      const joined = concat(list, length)
      copied += joined.length
      return joined
    })
    async function* padded() {
      yield archive(image)
      for (let piece = 0; piece < 50; piece++) yield Buffer.alloc(65_536)
    }
    const folder = createFolder('padded')
    t.after(() => removeFolder(folder))
    await unpackArchive(padded(), folder, { maxBytes: 10_000_000, maxEntries: 10 })
    assert.deepEqual(readdirSync(folder), ['fairlead-image.yml'])
    assert.ok(copied < 65_536, `${copied} bytes copied`)
  })
  await t.test('a digest that does not fit', async () => {
    const wrong = `sha-256=:${Buffer.alloc(32).toString('base64')}:`
    assert.match((await put(archive(image), { 'content-digest': wrong })).message, /digest/)
  })
  assert.deepEqual(await infra.read('/local/images'), [])
})

interface Replaced {
  writeSync(file: number, bytes: Uint8Array, at?: number): number
  closeSync(file: number): void
}

/** For all modules that import it, until the test ends. */
function replaceInFs<Name extends keyof Replaced>(
  t: TestContext,
  name: Name,
  implementation: Replaced[Name],
): void {
  const mocked = t.mock.method(fs, name, implementation as (typeof fs)[Name])
  syncBuiltinESMExports()
  t.after(() => {
    mocked.mock.restore()
    syncBuiltinESMExports()
  })
}

test('the same tree is the same content, and a version never changes', async (t) => {
  const infra = await startInfrastructure(t, { local: await localSettings(t) })
  const one = await infra.putImage('shop', '1', 'command: [sh]\n')
  const other = await infra.putImage('shop', '2', 'command: [sh]\n')
  assert.equal(
    (one['attributes'] as JsonObject)['digest'],
    (other['attributes'] as JsonObject)['digest'],
  )
  await infra.putImage('shop', '1', 'command: [sh]\n')
  await assert.rejects(
    infra.putImage('shop', '1', 'command: [sh, -c, exit]\n'),
    /exists with another content/,
  )
  assert.equal((await infra.ask('DELETE', '/local/images/shop/1')).status, 204)
  assert.equal((await infra.read<unknown[]>('/local/images')).length, 1)
})
