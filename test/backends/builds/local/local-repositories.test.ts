import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { RepositoryReader } from '../../../../packages/builds/local/repository.ts'

const uid = 5
const skip = process.geteuid?.() !== 0 && 'needs root'

test('root reads a repository of another user with the rights of that user', {
  skip,
}, async (context) => {
  const { folder, secret } = makeRepositories(context)
  const reader = new RepositoryReader({ accounts: [], maxBytes: 2 ** 26, sandbox: 'none' })
  const read = async (url: string) => {
    const bare = mkdtempSync(join(folder, 'bare-'))
    const { file } = await reader.fetch({ url }, undefined, { bare, home: join(bare, 'home') })
    return file('code.txt')
  }
  assert.equal(await read(secret), 'private', "root's own")
  const foreign = {
    'links for objects': (path: string) => {
      for (const name of ['objects', 'packed-refs'])
        replaceByLink(join(secret, name), join(path, name))
    },
    alternates: (path: string) => {
      writeFileSync(join(path, 'objects/info/alternates'), `${secret}/objects\n`)
      replaceByLink(join(secret, 'packed-refs'), join(path, 'packed-refs'))
    },
    commondir: (path: string) => writeFileSync(join(path, 'commondir'), secret),
    'a gitdir file': (path: string) => {
      rmSync(path, { recursive: true })
      mkdirSync(path)
      writeFileSync(join(path, '.git'), `gitdir: ${secret}\n`)
    },
    'a link to it': (path: string) => replaceByLink(secret, path),
  }
  for (const [index, [title, change]] of Object.entries(foreign).entries()) {
    const path = join(folder, `shop-${index}.git`)
    git(folder, 'init', '--quiet', '--bare', path)
    change(path)
    giveAway(path)
    await assert.rejects(read(path), /cannot be read/, title)
    if (title !== 'a link to it') continue
    symlinkSync(path, join(folder, 'indirect'))
    await assert.rejects(read(join(folder, 'indirect')), /cannot be read/, 'by a link of root')
  }
  const shared = join(folder, 'shared.git')
  git(folder, 'init', '--quiet', '--bare', shared)
  for (const name of ['objects', 'packed-refs'])
    replaceByLink(join(secret, name), join(shared, name))
  chownSync(join(shared, 'refs'), 0, uid)
  chmodSync(join(shared, 'refs'), 0o2775)
  await assert.rejects(read(shared), /cannot be read/, 'a group writes there')
  const own = join(folder, 'own.git')
  git(folder, 'clone', '--quiet', '--bare', '--no-hardlinks', secret, own)
  giveAway(own)
  assert.equal(await read(own), 'private', "the user's own")
  assert.equal(await reader.head({ url: own }, folder), git(secret, 'rev-parse', 'HEAD').trim())
})

function makeRepositories(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-repositories-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  const work = join(folder, 'work')
  git(folder, 'init', '--quiet', work)
  writeFileSync(join(work, 'code.txt'), 'private')
  git(work, 'add', '-A')
  git(work, 'commit', '--quiet', '-m', 'code')
  chmodSync(work, 0o700)
  const secret = join(folder, 'private.git')
  git(folder, 'clone', '--quiet', '--bare', work, secret)
  git(secret, 'pack-refs', '--all')
  chmodSync(secret, 0o700)
  return { folder, secret }
}

function replaceByLink(target: string, path: string): void {
  rmSync(path, { recursive: true, force: true })
  symlinkSync(target, path)
}

function giveAway(path: string): void {
  lchownSync(path, uid, uid)
  const entries = readdirSync(path, { recursive: true, withFileTypes: true })
  for (const entry of entries) lchownSync(join(entry.parentPath, entry.name), uid, uid)
}

function git(cwd: string, ...args: string[]): string {
  const settings = [
    'user.name=x',
    'user.email=x@y',
    'init.defaultBranch=main',
    'safe.directory=*',
  ].flatMap((each) => ['-c', each])
  return execFileSync('git', [...settings, ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}
