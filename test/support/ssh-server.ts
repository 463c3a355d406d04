/** An SSH server of OpenSSH on loopback, for the user that runs the tests. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { needs } from './debian.ts'
import { freePort } from './free-port.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'
import { waitUntil } from './wait-until.ts'

export interface SshServer {
  /** `ssh://user@127.0.0.1:port`. */
  readonly url: string
  readonly privateKeyFile: string
  /** Knows the server. */
  readonly knownHostsFile: string
}

/** Undefined when it is not installed; the test is skipped then. */
export async function startSshServer(t: TestContext): Promise<SshServer | undefined> {
  const program = needs(t, 'sshd')
  if (program === undefined) return undefined
  const folder = createFolder('sshd')
  const file = (name: string) => join(folder, name)
  for (const name of ['host', 'key'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file(name)])
  writeFileSync(file('authorized'), readFileSync(file('key.pub')))
  writeFileSync(file('known'), `127.0.0.1 ${readFileSync(file('host.pub'), 'utf8')}`)
  // Privileges are given up in this folder, which the service of Debian would create.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true })
  const port = await freePort()
  const config = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${file('host')}`,
    `AuthorizedKeysFile ${file('authorized')}`,
    'PidFile none',
    'StrictModes no',
    'PasswordAuthentication no',
    'PermitRootLogin prohibit-password',
  ]
  writeFileSync(file('config'), config.join('\n'))
  const child = spawn(program, ['-D', '-e', '-f', file('config')], { stdio: 'ignore' })
  t.after(async () => {
    const gone = once(child, 'exit')
    if (child.exitCode === null) child.kill()
    else return removeFolder(folder)
    await gone
    removeFolder(folder)
  })
  await waitUntil(() => isListening(port), 'sshd to listen')
  return {
    url: `ssh://${userInfo().username}@127.0.0.1:${port}`,
    privateKeyFile: file('key'),
    knownHostsFile: file('known'),
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
