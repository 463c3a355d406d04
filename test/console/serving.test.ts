/** The console's document and files: who may load them, how they are cached and compressed, and what never gets out. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Manifest } from '../../packages/gateway/console/built-files.ts'
import { startGateway } from '../support/gateway.ts'
import { consoleDir } from '../support/program.ts'

const guarded = {
  security: { basicform: { enabled: true } },
  spring: { security: { user: { name: 'alice', password: 'secret' } } },
  server: { servlet: { 'context-path': '/gate' } },
}
const manifest = JSON.parse(
  readFileSync(new URL('manifest.json', consoleDir), 'utf8'),
) as Manifest & {
  readonly firstLoadBytes: number
  readonly firstLoad: readonly string[]
}

test('the console is served without login', async (t) => {
  const gateway = await startGateway(t, guarded)

  await t.test('every address has the same small document', async () => {
    const texts = await Promise.all(
      [
        '',
        '/',
        '/applications/web',
        '/executions/01KB3W6Y0TJ9Q4M8H5R2ZC7VXA?stage=x',
        '/nowhere',
      ].map(async (path) => {
        const answer = await fetch(`${gateway}/console${path}`)
        assert.equal(answer.status, 200, path)
        assert.equal(answer.headers.get('cache-control'), 'no-cache')
        assert.equal(answer.headers.get('pragma'), null)
        return (await answer.text()).replace(/nonce="[\w-]+"/, '')
      }),
    )
    assert.equal(new Set(texts).size, 1)
    assert.ok(Buffer.byteLength(texts[0] as string) < 3000)
    assert.match(texts[0] as string, /<base href="\/gate\/console\/">/)
    assert.doesNotMatch(texts[0] as string, /<script>|<style|onload=|https?:\/\/(?!www\.w3\.org)/)
  })

  await t.test('its policy admits own files only, with a new nonce each time', async () => {
    const policies = await Promise.all(
      [1, 2].map(
        async () =>
          (await fetch(`${gateway}/console`)).headers.get('content-security-policy') ?? '',
      ),
    )
    assert.notEqual(policies[0], policies[1])
    for (const policy of policies) {
      assert.match(
        policy,
        /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w-]{22}'; /,
      )
      assert.match(
        policy,
        /frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$/,
      )
      assert.doesNotMatch(policy, /unsafe|\*/)
    }
  })

  await t.test('files are kept for good and come compressed as asked', async () => {
    const plain = await ask(`${gateway}/console/files/${manifest.script}`, {})
    assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(plain.headers['content-type'], 'text/javascript;charset=UTF-8')
    assert.match(String(plain.headers['vary']), /Accept-Encoding/)
    assert.equal(plain.headers['expires'], undefined)
    for (const [accepted, coding, decode] of [
      ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
      ['gzip', 'gzip', gunzipSync],
      ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
      ['zstd', undefined, (bytes: Buffer) => bytes],
    ] as const) {
      const { headers, body } = await ask(`${gateway}/console/files/${manifest.script}`, {
        'accept-encoding': accepted,
      })
      assert.equal(headers['content-encoding'], coding, accepted)
      assert.deepEqual(decode(body), plain.body, accepted)
    }
  })

  await t.test('the typeface is its own, and compressed already', async () => {
    const { headers } = await ask(`${gateway}/console/files/${manifest.font}`, {
      'accept-encoding': 'br, gzip',
    })
    assert.equal(headers['content-type'], 'font/woff2')
    assert.equal(headers['content-encoding'], undefined)
    const { body } = await ask(`${gateway}/console/files/${manifest.style}`, {})
    assert.match(
      body.toString(),
      new RegExp(`font-display:swap;src:url\\("\\./${manifest.font}"\\)`),
    )
  })

  await t.test('HEAD announces the same without a body', async () => {
    const head = await fetch(`${gateway}/console/files/${manifest.style}`, { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.ok(Number(head.headers.get('content-length')) > 0)
    assert.equal(await head.text(), '')
  })

  await t.test('a file of another version is reported, never the document', async () => {
    for (const name of [
      'main-OLD.js',
      '',
      'constructor',
      `${manifest.script}.br`,
      'manifest.json',
    ]) {
      const answer = await fetch(`${gateway}/console/files/${name}`)
      assert.equal(answer.status, name === '' ? 200 : 404, name)
      if (name !== '') assert.match(await answer.text(), /Fairlead was updated/)
      assert.doesNotMatch(answer.headers.get('cache-control') ?? '', /immutable/)
    }
  })

  await t.test('no path leaves the folder', async () => {
    const paths = [
      '..%2fmanifest.json',
      '../manifest.json',
      '..\\manifest.json',
      '%2e%2e/manifest.json',
      './../../fairlead.js',
      'x/%00',
      ';/..',
    ]
    for (const path of paths) {
      const { status, body } = await ask(`${gateway}/console/files/${path}`, {})
      assert.ok(status === 400 || status === 404, `${path}: ${status}`)
      assert.doesNotMatch(body.toString(), /firstLoadBytes/)
    }
  })

  await t.test('changes are no method of it', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      for (const path of ['', '/', '/applications', `/files/${manifest.script}`]) {
        const answer = await fetch(`${gateway}/console${path}`, { method })
        assert.equal(answer.status, 405, `${method} ${path}`)
        assert.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS')
      }
    }
  })

  await t.test('the API below it still needs a login', async () => {
    assert.equal((await fetch(`${gateway}/applications`)).status, 401)
    assert.equal((await fetch(`${gateway}/consoles`)).status, 401)
  })
})

test('a public address decides the base path', async (t) => {
  const gateway = await startGateway(t, {
    http: { publicUrl: 'https://deploy.example.com/tools/gate' },
  })
  assert.match(
    await (await fetch(`${gateway}/console`)).text(),
    /<base href="\/tools\/gate\/console\/">/,
  )
})

test('console.enabled: false removes the console', async (t) => {
  const gateway = await startGateway(t, { console: { enabled: false } })
  for (const path of ['/console', '/console/x', `/console/files/${manifest.script}`]) {
    assert.equal((await fetch(gateway + path)).status, 404, path)
  }
})

test('the first load stays within its budget', () => {
  assert.ok(manifest.firstLoadBytes <= 100_000, `${manifest.firstLoadBytes} bytes`)
  assert.ok(manifest.firstLoad.length < 10, `${manifest.firstLoad.length} files and the document`)
  for (const name of manifest.firstLoad) assert.ok(name in manifest.files, name)
})

interface RawAnswer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: Buffer
}

/** Sends the path as it is written, and the body as it came. */
function ask(url: string, headers: Record<string, string>): Promise<RawAnswer> {
  const [, origin = '', path = ''] = /^(https?:\/\/[^/]+)(.*)$/.exec(url) ?? []
  return new Promise((resolve, reject) => {
    const sent = request(origin, { path, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: Buffer.concat(chunks),
        }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}
