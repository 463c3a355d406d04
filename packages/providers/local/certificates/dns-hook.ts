/** The operator's program that sets and clears TXT records. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { AcmeProblem } from './acme-authority.ts'
import type { AcmeSettings } from './settings.ts'

const maxErrorLength = 300

/**
 * Called as `HOOK set NAME VALUE` and `HOOK clear NAME VALUE`, with no more of Fairlead's environment than where programs are.
 *
 * @throws {AcmeProblem} when it fails, or does not end in time: then it is killed with all that it has started
 */
export async function callDnsHook(
  { dnsHook, dnsHookMs }: Pick<AcmeSettings, 'dnsHook' | 'dnsHookMs'>,
  verb: 'set' | 'clear',
  { name, value }: { readonly name: string; readonly value: string },
): Promise<void> {
  if (dnsHook === undefined)
    throw new AcmeProblem(
      'The challenge DNS-01 needs a program that sets TXT records: set local.front.acme.dns.hook.',
      { type: 'dnsHook' },
    )
  const fail = (what: string) =>
    new AcmeProblem(`${dnsHook} ${verb} ${name} ${what}`, { type: 'dnsHook' })
  const { PATH, HOME, LANG } = process.env
  const child = spawn(dnsHook, [verb, name, value], {
    cwd: '/',
    env: { PATH, HOME, LANG },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-maxErrorLength)
  })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    killGroup(child.pid)
  }, dnsHookMs)
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
    if (isLate) throw fail(`did not end within ${dnsHookMs / 1000} seconds.`)
    if (code !== 0) throw fail(`failed with ${signal ?? `exit code ${code}`}: ${errors.trim()}`)
  } catch (error) {
    if (error instanceof AcmeProblem) throw error
    throw fail(`cannot be started: ${(error as Error).message}`)
  } finally {
    clearTimeout(timer)
    killGroup(child.pid)
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}
