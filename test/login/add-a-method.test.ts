/** The walkthrough "A login method" of CONTRIBUTING.md, carried out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extendProgram, walkthrough } from '../support/extended-program.ts'
import { startServe } from '../support/serve.ts'

/** Believes a header with the agreed word; nobody should. */
const method = `
import { z } from 'zod'
import type { LoginMethodType } from '../method-type.ts'

interface KnockSettings { readonly key: string; readonly word: string }

export const knockMethod: LoginMethodType<KnockSettings, { 'knock.word'?: string }> = {
  name: 'knock',
  title: 'a knock',
  kind: 'proxy',
  keys: z.strictObject({ 'knock.word': z.string().optional().describe('Word to say.') }),
  toSettings: ({ 'knock.word': word }) => (word === undefined ? undefined : { key: 'knock.word', word }),
  describe: () => 'knocking',
  async open({ word }, { prepareUser }) {
    return {
      name: 'knock', filtered: false,
      reportOf: () => undefined,
      entryPoint: () => ({ kind: 'redirect', location: '/knock' }),
      async authenticate({ headers }) {
        if (headers['x-knock'] !== word) return { kind: 'not-mine' }
        const user = { username: 'guest', email: null, firstName: null, lastName: null, roles: [], allowedAccounts: [], method: 'knock' }
        return { kind: 'user', user: await prepareUser(user, undefined) }
      },
    }
  },
}
`

test('a login method is a folder and a line', async (t) => {
  const { files } = walkthrough('A login method')
  assert.ok(
    files.includes('packages/gateway/login/method-type.ts') &&
      files.includes('packages/gateway/login/methods.ts'),
  )
  const { program, add, list } = extendProgram(t)
  add('packages/gateway/login/knock/method.ts', method)
  list('packages/gateway/login/methods.ts', {
    import: "import { knockMethod } from './knock/method.ts'",
    after: '  oauth2Method,',
    entry: '  knockMethod,',
  })

  const url = await startServe(
    t,
    { anonymous: { enabled: false }, knock: { word: 'mellon' } },
    { program },
  ).listening
  const admitted = await fetch(`${url}/auth/user`, { headers: { 'x-knock': 'mellon' } })
  const refused = await fetch(`${url}/applications`, { headers: { 'x-knock': 'friend' } })

  assert.equal(((await admitted.json()) as { username?: string }).username, 'guest')
  assert.equal(refused.status, 401)
})
