/** Starts OpenLDAP with an example directory, with and without TLS, and tells what it was asked; it ends with the test. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { exampleEntries } from '../fixtures/directory-entries.ts'
import { needs } from './debian.ts'
import { freePort } from './free-port.ts'
import { keyPairOf } from './self-signed.ts'
import { waitUntil } from './wait-until.ts'

export const root = 'dc=example,dc=org'
export const manager = { dn: `cn=admin,${root}`, password: 'manager secret' }

export interface DirectoryServer {
  /** `ldap://localhost:port/dc=example,dc=org` */
  readonly url: string
  /** The same with TLS. */
  readonly secureUrl: string
  readonly port: number
  /** PEM file with the authority of its certificate. */
  readonly caFile: string
  /** What it was asked, in the words of its log: `conn=1001 op=0 BIND dn="…" method=128`. */
  readonly log: string[]
  /** Lines of the log that contain a text. */
  asked(text: string): string[]
  stop(): Promise<void>
  /** Starts it again on the same ports, with the same entries. */
  start(): Promise<void>
}

export interface DirectoryOptions {
  /** Further entries, as LDIF. */
  ldif?: string
  /** Further kinds of entries and attributes. */
  schema?: string
  /** Further lines of the configuration of the database. */
  config?: string
}

/** Undefined when OpenLDAP is not installed; the test is skipped then. */
export async function startDirectory(
  t: TestContext,
  options: DirectoryOptions = {},
): Promise<DirectoryServer | undefined> {
  const slapd = needs(t, 'slapd')
  if (slapd === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-directory-'))
  const caFile = writeConfiguration(folder, options)
  fill(slapd, folder, `${exampleEntries}\n\n${options.ldif ?? ''}`)
  const [port, securePort] = [await freePort(), await freePort()]
  const log: string[] = []
  let running: ChildProcess | undefined
  const start = async () => {
    running = spawn(
      slapd,
      [
        '-d',
        'stats',
        '-f',
        'slapd.conf',
        '-h',
        `ldap://127.0.0.1:${port} ldaps://127.0.0.1:${securePort}`,
      ],
      { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    running.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log.push(...text.split('\n').filter(Boolean))
    })
    await waitForPort(securePort, running, log)
  }
  const stop = async () => {
    const child = running
    running = undefined
    if (child === undefined || child.exitCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  t.after(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  return {
    url: `ldap://localhost:${port}/${root}`,
    secureUrl: `ldaps://localhost:${securePort}/${root}`,
    port,
    caFile,
    log,
    asked: (text) => log.filter((line) => line.includes(text)),
    stop,
    start,
  }
}

function writeConfiguration(
  folder: string,
  { schema = '', config = '' }: DirectoryOptions,
): string {
  const { certificate, keyPem } = keyPairOf('localhost')
  const caFile = join(folder, 'ca.pem')
  mkdirSync(join(folder, 'data'))
  writeFileSync(caFile, certificate)
  writeFileSync(join(folder, 'key.pem'), keyPem)
  const schemas = ['core', 'cosine', 'nis', 'inetorgperson'].map(
    (name) => `include /etc/ldap/schema/${name}.schema`,
  )
  writeFileSync(
    join(folder, 'slapd.conf'),
    `${schemas.join('\n')}
${schema}
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
moduleload retcode
TLSCertificateFile ${caFile}
TLSCertificateKeyFile ${join(folder, 'key.pem')}
allow bind_anon_cred
sizelimit 500
database mdb
suffix "${root}"
rootdn "${manager.dn}"
rootpw "${manager.password}"
directory ${join(folder, 'data')}
maxsize 33554432
index objectClass,uid,cn,uniqueMember eq
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree="ou=hidden,${root}" by anonymous auth by * none
access to * by * read
limits dn.exact="${manager.dn}" size=500 size.prtotal=unlimited
overlay memberof
memberof-group-oc groupOfNames
memberof-member-ad member
${config}
`,
  )
  return caFile
}

function fill(slapd: string, folder: string, ldif: string): void {
  const slapadd = join(dirname(slapd), 'slapadd')
  const { status, stderr } = spawnSync(slapadd, ['-q', '-f', join(folder, 'slapd.conf')], {
    input: ldif,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
}

async function waitForPort(
  port: number,
  child: ChildProcess,
  log: readonly string[],
): Promise<void> {
  await waitUntil(
    async () => child.exitCode !== null || (await listens(port)),
    () => `slapd:\n${log.join('\n')}`,
  )
  assert.equal(child.exitCode, null, `slapd does not start:\n${log.join('\n')}`)
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () =>
      resolve(false),
    )
    socket.once('connect', () => socket.destroy())
  })
}
