/** `fairlead context`: the known instances, and which of them commands use. */
import { defineCommand } from '../command.ts'
import { misuse } from '../failure.ts'
import type { Output } from '../output.ts'
import { findContext, type Session } from '../session.ts'
import { warnOfTokenEnd } from '../token-end.ts'

const list = defineCommand({
  name: 'list',
  summary: 'list known instances',
  run: async ({ session, output }) => printContexts(session, output),
})

const rename = defineCommand({
  name: 'rename',
  summary: 'give a context another name',
  words: '<name> <new>',
  run: async ({ session, output, words: [from = '', to = ''] }) => {
    const { current, contexts } = session.file.load()
    const { [from]: _moved, ...others } = contexts
    const moved = findContext({ contexts }, from)
    if (Object.hasOwn(others, to))
      throw misuse(
        `There is a context "${to}" already.`,
        `Remove it: fairlead context remove ${to}`,
      )
    session.file.save({
      current: current === from ? to : current,
      contexts: { ...others, [to]: moved },
    })
    output.result({ context: to, url: moved.url }, `${from} is now ${to}.`)
  },
})

const remove = defineCommand({
  name: 'remove',
  summary: 'forget an instance without revoking its token',
  words: '<name>',
  run: async ({ session, output, words: [name = ''] }) => {
    const { current, contexts } = session.file.load()
    const { [name]: _removed, ...others } = contexts
    const { url } = findContext({ contexts }, name)
    session.file.save({ current: current === name ? undefined : current, contexts: others })
    output.result({ context: name, url }, `${name} is removed.`)
  },
})

export const context = defineCommand({
  name: 'context',
  summary: 'show the known instances, or choose one: list, rename, remove',
  group: 'login',
  words: '[name]',
  actions: [list, rename, remove],
  run: async ({ session, output, words: [name] }) => {
    if (name === undefined) return printContexts(session, output)
    const config = session.file.load()
    const { url } = findContext(config, name)
    session.file.save({ ...config, current: name })
    output.result({ context: name, url }, `Commands now use ${name}, ${url}.`)
  },
})

async function printContexts(session: Session, output: Output): Promise<undefined> {
  const { current, contexts } = session.file.load()
  const known = Object.entries(contexts).map(([name, each]) => ({
    name,
    current: name === current,
    url: each.url,
    user: each.user,
    expiresAt: each.expiresAt,
  }))
  const rows = known.map((each) => [
    each.current ? '*' : '',
    each.name,
    each.url,
    each.user ?? '',
    each.expiresAt === undefined ? '' : `ends ${each.expiresAt.slice(0, 10)}`,
  ])
  const text =
    rows.length === 0
      ? 'No instance is known yet. Log in with: fairlead login URL'
      : output.table([['', 'CONTEXT', 'URL', 'USER', 'TOKEN'], ...rows])
  output.result(known, text)
  for (const each of known) warnOfTokenEnd({ ...each, token: undefined }, output)
  return undefined
}
