/** `fairlead backup` of an instance that runs, and `fairlead restore` into a directory of another name. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { list } from 'tar'
import type { JsonObject } from '../../packages/base/json/values.ts'
import { endWithTest } from '../support/agent.ts'
import { startDeployments, visit } from '../support/deployments.ts'
import { program } from '../support/program.ts'
import { createHome, startServe } from '../support/serve.ts'
import { waitUntil } from '../support/wait-until.ts'

interface Ended {
  readonly status: number | null
  readonly out: string
  readonly errors: string
}

const user = { headers: { 'X-SPINNAKER-USER': 'alice' } }

test('a backup of a running instance is restored elsewhere, with everything that it had', async (t) => {
  const fleet = await startDeployments(t, { isProcess: true })
  const home = dirname(fleet.dataDir)
  const settings = join(home, 'gate-under-test.yml')
  const run = async (
    words: readonly string[],
    { dataDir = fleet.dataDir, input = '' } = {},
  ): Promise<Ended> => {
    const env = { PATH: process.env['PATH'], HOME: home, FAIRLEAD_DATA_DIR: dataDir }
    const child = spawn(process.execPath, [program, ...words, '--config', settings], {
      cwd: home,
      env,
    })
    child.stdin.end(input)
    const closed = once(child, 'close') as Promise<[number | null]>
    const [out, errors, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      closed,
    ])
    return { status, out, errors }
  }
  const port = await fleet.balance('shop-web')
  const group = await fleet.deploy('web', { loadBalancers: ['shop-web'] })
  writeFileSync(join(fleet.dataDir, 'secrets.key'), 'key of the secrets')
  const identity = await generateIdentity()
  const recipient = await identityToRecipient(identity)
  const keys = join(home, 'keys.txt')
  writeFileSync(keys, `# created by age-keygen\n${identity}\n`)
  const plain = join(home, 'plain.tar.gz')
  const locked = join(home, 'locked.age')
  const forKey = join(home, 'for-key.age')
  let answered: readonly string[] = []

  await t.test(
    'it is written while tasks are submitted, and holds each that had been answered',
    async () => {
      answered = await Promise.all(
        Array.from({ length: 5 }, () =>
          fleet.submit({ type: 'resizeServerGroup', serverGroupName: group }),
        ),
      )
      const writing = run(['backup', plain])
      const during = Array.from({ length: 20 }, () =>
        fleet.submit({ type: 'resizeServerGroup', serverGroupName: group }),
      )
      const { status, errors } = await writing
      assert.equal(status, 0, errors)
      assert.match(
        errors,
        /^The backup of .* is written to .*plain\.tar\.gz \([\d.]+ [kKM]i?B\)\. Not in it: the key of the secrets \(/,
      )
      await Promise.all(during)
      assert.equal(statSync(plain).mode & 0o777, 0o600)
      assert.deepEqual(
        readdirSync(fleet.dataDir).filter((name) => name.startsWith('.backup-')),
        [],
      )
    },
  )

  await t.test('what belongs to processes stays out, and the key of the secrets, too', async () => {
    const names = await namesIn(plain)
    assert.equal(names[0], 'backup.json')
    for (const name of ['backends.db', 'audit.db', 'images/'])
      assert.ok(names.includes(name), `${name} of ${names.join(' ')}`)
    const outside = /^(instances|agent|lock|server\.json|secrets\.key)|-wal$|\.sock$/
    assert.deepEqual(
      names.filter((name) => outside.test(name)),
      [],
    )
  })

  await t.test('it is encrypted with a passphrase, or for a key', async () => {
    assert.equal(
      (await run(['backup', locked, '--encrypt'], { input: 'a passphrase\n' })).status,
      0,
    )
    assert.equal((await run(['backup', forKey, '--recipient', recipient])).status, 0)
    for (const file of [locked, forKey])
      assert.match(readFileSync(file, 'latin1'), /^age-encryption\.org\/v1\n/)
  })

  const refusals: Record<
    string,
    { words: readonly string[]; input?: string; before?: () => void; said: RegExp }
  > = {
    'a file that exists is not overwritten': {
      words: ['backup', plain],
      said: /plain\.tar\.gz exists\. Name another file/,
    },
    'a public key is checked': {
      words: ['backup', join(home, 'x'), '--recipient', 'age1x'],
      said: /"age1x" is no public key of age/,
    },
    'a wrong passphrase is refused': {
      words: ['restore', locked],
      input: 'another\n',
      said: /The passphrase does not decrypt/,
    },
    'the secret key is asked for': {
      words: ['restore', forKey],
      said: /name the file with the secret key by --identity/,
    },
    'what is no backup is refused': { words: ['restore', settings], said: /damaged, or no backup/ },
    'a file that is missing is named': {
      words: ['restore', join(home, 'none')],
      said: /none does not exist; correct the path/,
    },
    'a backup that breaks off is refused': {
      words: ['restore', join(home, 'short.tar.gz')],
      before: () => {
        writeFileSync(join(home, 'short.tar.gz'), readFileSync(plain))
        truncateSync(join(home, 'short.tar.gz'), Math.floor(statSync(plain).size / 2))
      },
      said: /The backup is damaged/,
    },
    'an altered encrypted backup is refused': {
      words: ['restore', join(home, 'altered.age'), '--identity', keys],
      before: () => {
        const content = readFileSync(forKey)
        content.writeUInt8(content.readUInt8(content.length - 100) ^ 1, content.length - 100)
        writeFileSync(join(home, 'altered.age'), content)
      },
      said: /[Dd]amaged|decrypt/,
    },
  }
  for (const [name, { words, input = '', before, said }] of Object.entries(refusals)) {
    await t.test(name, async () => {
      before?.()
      const dataDir = join(home, 'refused')
      const { status, errors } = await run(words, {
        dataDir: words[0] === 'restore' ? dataDir : fleet.dataDir,
        input,
      })
      assert.notEqual(status, 0)
      assert.match(errors, said)
      const left =
        words[0] === 'restore' ? readdirSync(home).includes('refused') && readdirSync(dataDir) : []
      assert.deepEqual(
        left || [],
        (left || []).filter((entry) => entry.startsWith('lock.db')),
      )
    })
  }

  await t.test('a directory with data is not overwritten', async () => {
    const { status, errors } = await run(['restore', plain])
    assert.equal(status, 1)
    assert.match(errors, /is not empty\. Run ".*stop --all", move the directory away/)
  })

  await t.test(
    'a key restores it, key of the secrets included, and programs that still run are named',
    async () => {
      const dataDir = join(home, 'by key')
      mkdirSync(dataDir)
      const { status, out, errors } = await run(['restore', forKey, '--identity', keys], {
        dataDir,
      })
      assert.equal(status, 0, errors)
      assert.match(out, /still run on this machine, .*stop --all/)
      assert.equal(readFileSync(join(dataDir, 'secrets.key'), 'utf8'), 'key of the secrets')
      for (const name of ['backends.db', 'audit.db'])
        assert.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600, name)
    },
  )

  await t.test(
    'its programs start from the restored directory, behind their load balancer',
    async () => {
      assert.equal((await run(['stop', '--all'])).status, 0)
      assert.deepEqual(fleet.processes(), [])
      const dataDir = join(home, 'another name')
      const { status, out, errors } = await run(['restore', locked], {
        dataDir,
        input: 'a passphrase\n',
      })
      assert.equal(status, 0, errors)
      assert.doesNotMatch(out, /still run/)
      const other = createHome(t)
      const restored = startServe(t, JSON.parse(readFileSync(settings, 'utf8')) as JsonObject, {
        home: other,
        embedded: true,
        env: { FAIRLEAD_DATA_DIR: dataDir },
      })
      const processes = endWithTest(t, dataDir, async () => {
        restored.signal('SIGKILL')
        await restored.exited
      })
      const url = await restored.listening
      await waitUntil(
        async () => (await visit(port).catch(() => undefined))?.group === group,
        () => `${group} behind its load balancer: ${restored.errors()}`,
      )
      assert.ok(processes().length > 0)
      const read = async (path: string) =>
        (await fetch(`${url}${path}`, user)).json() as Promise<JsonObject[]>
      const tasks = await read('/applications/shop/tasks?limit=100')
      const ids = new Set(tasks.map(({ id }) => id))
      assert.deepEqual(
        answered.filter((id) => !ids.has(id)),
        [],
      )
      assert.equal((await read('/images/find?provider=local&q=shop')).length, 2)
    },
  )
})

/** Paths in an archive, in their order. */
async function namesIn(file: string): Promise<string[]> {
  const names: string[] = []
  await list({ file, onReadEntry: ({ path }) => names.push(path) })
  return names
}
