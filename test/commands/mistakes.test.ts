/** The mistakes of the first minutes: each message says what failed, where, and what to do, in one bounded line without a stack. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { basename, dirname, join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import pino, { type Logger } from 'pino'
import { explainFailure } from '../../bin/failure.ts'
import { describeFailure, runCommand } from '../../bin/fairlead.ts'
import { lockDataDir } from '../../packages/app/hosting/lock.ts'
import { openRedis } from '../../packages/base/redis/open-redis.ts'
import { openDatabase } from '../../packages/base/storage/database.ts'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { load, problemsOf } from '../config/given.ts'
import { createAuthority } from '../support/authority.ts'
import { runGateway } from '../support/gateway.ts'
import { program, sharedEnvironment } from '../support/program.ts'
import { startRedis } from '../support/redis.ts'
import { keyPairOf } from '../support/self-signed.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitFor } from '../support/wait-until.ts'

const root = resolve(import.meta.dirname, '../..')
const launcher = join(root, 'bin/fairlead.js')
/** Wide enough for a path and a list of what is offered. */
const maxLine = 420

interface Mistake {
  readonly what: string
  /** Makes the mistake. @returns what its maker reads; undefined where that is not possible, after the test has been skipped */
  readonly read: (t: TestContext) => Promise<string | undefined> | string | undefined
  /** What failed and where; then what to do. */
  readonly says: readonly [RegExp, RegExp]
}

const mistakes: readonly Mistake[] = [
  // The configuration: file, line and key.
  inFile('a bracket that is not closed', 'server:\n  port: [8084\n', [
    /^config\/gate\.yml:\d: is not usable YAML: /,
    /correct this line/,
  ]),
  inFile('a tab', 'server:\n\tport: 1\n', [
    /^config\/gate\.yml:2: is not usable YAML: a tab/,
    /use blanks/,
  ]),
  inFile('an unknown key', 'server.adress: 127.0.0.1\n', [
    /^config\/gate\.yml:1: server\.adress: is not a known key/,
    /did you mean server\.address\?/,
  ]),
  inFile('a word for a number', '# of the gateway\nserver: {port: many}\n', [
    /config\/gate\.yml:2: server\.port: .*is "many"/,
    /must be a number/,
  ]),
  inFile('a bad duration', 'http.writeTimeout: soon\n', [
    /^config\/gate\.yml:1: http\.writeTimeout: /,
    /such as 30s, 15m or PT1H, is "soon"/,
  ]),
  inFile('a bad URL', 'services.orca.baseUrl: orca:8083\n', [
    /^config\/gate\.yml:1: services\.orca\.baseUrl: /,
    /such as http:\/\/orca\.example:8083/,
  ]),
  inFile('a bad Redis address', 'redis.connection: localhost:6379\n', [
    /^config\/gate\.yml:1: redis\.connection: /,
    /such as redis:\/\/redis\.example:6379/,
  ]),
  inFile('a certificate that is not there', tlsOf('none.pem', 'none.pem'), [
    /^config\/gate\.yml:1: server\.ssl\.certificate: the file none\.pem does not exist/,
    /correct the path/,
  ]),
  inFile('a folder for a key', tlsOf('/', '/'), [
    /^config\/gate\.yml:1: server\.ssl\.certificate: the file \/ is a directory/,
    /name a file/,
  ]),
  {
    what: 'a key of another certificate',
    read: async (t) => {
      const folder = folderOf(t)
      writeFileSync(join(folder, 'c.pem'), keyPairOf('gateway', 'ec').certificate)
      writeFileSync(join(folder, 'k.pem'), keyPairOf('another', 'ec').keyPem)
      return one(
        await problemsOf(t, {
          'config/gate.yml': tlsOf(join(folder, 'c.pem'), join(folder, 'k.pem')),
        }),
      )
    },
    says: [/^config\/gate\.yml:1: server\.ssl\.certificate\S*: /, /private key/],
  },
  {
    what: 'a certificate that has expired',
    read: async (t) => {
      const issued = await (await createAuthority('CN=CA')).issue({
        subject: 'CN=gateway',
        notAfter: Date.now() - 1000,
      })
      const folder = folderOf(t)
      writeFileSync(join(folder, 'c.pem'), issued.cert)
      writeFileSync(join(folder, 'k.pem'), issued.key)
      const { notices } = await load(t, {
        'config/gate.yml': tlsOf(join(folder, 'c.pem'), join(folder, 'k.pem')),
      })
      return notices.find((notice) => notice.includes('certificate'))
    },
    says: [
      /^Warning: the certificate of server\.ssl expired at 2\S+: clients refuse to connect\./,
      /Replace its file/,
    ],
  },
  {
    what: 'an address of a service with a password',
    read: async (t) => {
      const { notices } = await load(t, {
        'config/gate.yml': 'services.orca.baseUrl: http://me:s3cret@orca:8083\n',
      })
      return notices.find((notice) => notice.includes('password'))
    },
    says: [/^Warning: the user and password in the address of orca are not sent/, /Remove them/],
  },
  {
    what: 'a file that is not there',
    read: async (t) => one(await problemsOf(t, { files: ['gate.yaml'] })),
    says: [/^--config: \S+\/gate\.yaml does not exist/, /correct the path/],
  },
  {
    what: 'bad JSON in the environment',
    read: async (t) =>
      one(await problemsOf(t, { env: { SPRING_APPLICATION_JSON: '{"server": ' } })),
    says: [
      /^environment variable SPRING_APPLICATION_JSON: is not valid JSON/,
      /write it like \{"server"/,
    ],
  },
  {
    what: 'a word for a number in the environment',
    read: async (t) => one(await problemsOf(t, { env: { SERVER_PORT: 'many' } })),
    says: [/^environment variable SERVER_PORT: server\.port: .*is "many"/, /must be a number/],
  },

  // Ports and addresses.
  {
    what: 'a port in use, at the first start',
    read: async (t) => {
      const port = await portOf(t, createServer())
      const written = t.mock.method(process.stderr, 'write', () => true)
      const dataDir = folderOf(t)
      const started = runGateway(
        t,
        { security: { basicform: { enabled: true } }, server: { port } },
        { dataDir },
      )
      const text = await failureOf(started)
      const announced = written.mock.callCount()
      written.mock.restore()
      assert.equal(announced, 0, 'no password is printed by a start that fails')
      const users = openUsers(dataDir)
      assert.deepEqual(users.list(), [])
      users.close()
      return text
    },
    says: [/^Port \d+ is in use\./, /Stop what listens there, or set server\.port/],
  },
  {
    what: 'an address of another machine',
    read: (t) => failureOf(runGateway(t, { server: { address: '192.0.2.1' } })),
    says: [/^This machine does not have the address 192\.0\.2\.1\./, /Correct server\.address/],
  },
  {
    what: 'a name without address',
    read: async (t) => {
      const { config } = await load(t, { settings: { 'server.address': 'nowhere.invalid' } })
      return runGateway(t, { server: { address: 'nowhere.invalid' } }).then(
        () => assert.fail('it listens'),
        (error: unknown) => explainFailure(error, config.http),
      )
    },
    says: [/^The name nowhere\.invalid has no address\./, /Correct server\.address/],
  },

  // Redis.
  {
    what: 'no Redis there',
    read: async (t) => {
      const server = createServer()
      const port = await portOf(t, server)
      await new Promise((closed) => server.close(closed))
      return complaintOf(t, `redis://127.0.0.1:${port}`)
    },
    says: [
      /^Redis at 127\.0\.0\.1:\d+ does not answer/,
      /check the address in redis\.connection and whether Redis runs there/,
    ],
  },
  {
    what: 'a wrong password of Redis, and TLS to a port without',
    read: async (t) => {
      const redis = await startRedis(t, { users: ['user fairlead on >secret ~* &* +@all'] })
      if (redis === undefined) return undefined
      const unencrypted = await complaintOf(t, `rediss://fairlead:secret@127.0.0.1:${redis.port}`)
      assert.match(
        unencrypted,
        /^Redis at \S+ with TLS does not answer.*: if the server does not speak TLS, write redis:\/\//,
      )
      return complaintOf(t, `redis://fairlead:wrong@127.0.0.1:${redis.port}`)
    },
    says: [/^Redis at 127\.0\.0\.1:\d+ rejects the user/, /check user and password/],
  },
  {
    what: 'a Redis with TLS that is addressed without',
    read: async (t) => {
      const { certificate: cert, keyPem: key } = keyPairOf('redis', 'ec')
      return complaintOf(t, `redis://127.0.0.1:${await portOf(t, createTlsServer({ cert, key }))}`)
    },
    says: [
      /^Redis at 127\.0\.0\.1:\d+ does not answer/,
      /if the server expects TLS, write rediss:\/\/ or set redis\.tls\.enabled: true/,
    ],
  },

  // The data directory.
  {
    what: 'a data directory that is a file',
    read: (t) => {
      const file = join(folderOf(t), 'data')
      writeFileSync(file, '')
      return userCommand(t, file, 'list')
    },
    says: [
      /^The data directory \S+ cannot be created: it is a file\./,
      /Set data\.dir or FAIRLEAD_DATA_DIR/,
    ],
  },
  {
    what: 'a data directory of another instance',
    read: (t) => {
      const dataDir = folderOf(t)
      const lock = lockDataDir(dataDir)
      t.after(() => lock.close())
      return failureOf(Promise.try(() => lockDataDir(dataDir)))
    },
    says: [
      /^Another Fairlead uses the data directory \S+\./,
      /Stop it, or set data\.dir or FAIRLEAD_DATA_DIR to another one/,
    ],
  },
  {
    what: 'a lock that is damaged',
    read: (t) => {
      const dataDir = folderOf(t)
      writeFileSync(join(dataDir, 'lock.db'), 'something else'.repeat(1000))
      return failureOf(Promise.try(() => lockDataDir(dataDir)))
    },
    says: [/lock\.db is damaged\./, /Remove it: it holds nothing/],
  },
  {
    what: 'a lock that is a folder',
    read: (t) => {
      const dataDir = folderOf(t)
      mkdirSync(join(dataDir, 'lock.db'))
      return failureOf(Promise.try(() => lockDataDir(dataDir)))
    },
    says: [
      /^The data directory \S+ cannot be written\./,
      /Give this user write access to it, or set data\.dir or FAIRLEAD_DATA_DIR/,
    ],
  },
  {
    what: 'a data directory of a newer version',
    read: (t) => {
      const dataDir = folderOf(t)
      openUsers(dataDir).close()
      const db = openDatabase(join(dataDir, 'users.db'))
      db.exec('UPDATE schema_versions SET version = 99')
      db.close()
      return userCommand(t, dataDir, 'list')
    },
    says: [
      /users\.db was written by a newer version: users has schema 99/,
      /Start the newer version again/,
    ],
  },
  {
    what: 'a damaged database',
    read: (t) => {
      const dataDir = folderOf(t)
      writeFileSync(join(dataDir, 'users.db'), 'something else'.repeat(1000))
      return userCommand(t, dataDir, 'list')
    },
    says: [
      /users\.db cannot be used: it is damaged, or no database\./,
      /Restore it from a backup, or move it away/,
    ],
  },
  {
    what: 'a full disk',
    read: (t) => {
      const disk = mountSmallDisk(t, '16k')
      return disk === undefined ? undefined : userCommand(t, join(disk, 'data'), 'list')
    },
    says: [/users\.db cannot be written: the disk is full\./, /Free some space/],
  },

  // Users.
  {
    what: 'a user that exists',
    read: async (t) => {
      const users = openUsers(folderOf(t))
      t.after(() => users.close())
      await users.add('kim', 'correct horse', [])
      return failureOf(users.add('Kim', 'correct horse', []))
    },
    says: [/^There is a user "kim" already\./, /Choose another name, or set its password/],
  },
  {
    what: 'a weak password',
    read: async (t) => {
      const users = openUsers(folderOf(t))
      t.after(() => users.close())
      return failureOf(users.add('kim', 'secret', []))
    },
    says: [/^A password has/, /8 to 1024 characters/],
  },
  {
    what: 'a user that is unknown',
    read: (t) => userCommand(t, folderOf(t), 'roles', 'kim', '--role', 'dev'),
    says: [/^There is no user "kim"\. The users of \/\S+/, /are listed by: \S.* user list$/],
  },

  // Arguments.
  ...misuses([
    ['chekc', /^There is no command "chekc"\./, /Did you mean check\? Help: \S.* --help$/],
    [
      'frobnicate',
      /^There is no command "frobnicate"\./,
      /There is serve, backends, stop, check, health, doctor, /,
    ],
    ['constructor', /^There is no command "constructor"\./, /There is serve, /],
    ['user', /^The command is incomplete\./, /There is add, passwd, roles, .* user --help$/],
    ['user add', /^Say the name of the user\./, /user --help$/],
    [
      'user add kim dev',
      /^One user at a time; "dev" is too much\./,
      /Roles are given with --role\. Passwords are read from standard input/,
    ],
    [
      'user add kim --password dev',
      /^There is no option --password\./,
      /Passwords are read from standard input/,
    ],
    ['user add kim --roles dev', /^There is no option --roles\./, /Did you mean --role\?/],
    ['user add kim --role', /^The value of --role is missing\./, /user --help$/],
    ['user roles kim --keep-tokens', /^--revoke-tokens and --keep-tokens/, /belong to passwd\./],
    [
      'token mint ci',
      /^There is no command "token mint"\./,
      /There is create, list, rotate, revoke\./,
    ],
    ['token create', /^Say the name of the token\./, /token --help$/],
    [
      'token create ci --readonly',
      /^There is no option --readonly\./,
      /Did you mean --read-only\?/,
    ],
    ['audit verfy', /^There is no command "audit verfy"\./, /Did you mean verify\?/],
    ['audit verify --sqlite one.db two.db', /^--sqlite examines one file\./, / audit --help$/],
    ['explain', /^The command is incomplete\./, /There is login, access\./],
    ['explain acess --user kim', /^There is no command "explain acess"\./, /Did you mean access\?/],
    [
      'explain access --user kim',
      /^Name the user and the operation/,
      /with --user and --operation\./,
    ],
    ['explain login', /^Name the credentials/, /with one of --user, --token, /],
    [
      'doctor --public-url gate.example',
      /^--public-url must be an address/,
      /such as https:\/\/gate\.example\.com\./,
    ],
    [
      'serve --port 9000',
      /^There is no option --port\./,
      /Settings come from files and from the environment, such as SERVER_PORT=8084\./,
    ],
    ['check --confg gate.yml', /^There is no option --confg\./, /Did you mean --config\?/],
    ['check --config', /^The value of --config is missing\./, /check --help$/],
    ['check --config=', /^The value of --config is empty\./, /check --help$/],
    ['user add kim --role=', /^The value of --role is empty\./, /user --help$/],
    ['openapi gate.yml', /^"gate\.yml" is too much\./, /openapi --help$/],
    ['openapi --yaml', /^There is no option --yaml\./, /openapi --help$/],
  ]),

  // The machine. These start the program, since they are about what comes before it.
  {
    what: 'a Node that is too old, in a clone',
    read: (t) => withOldNode(t, launcher, ['user', 'add', 'a b']),
    says: [
      /^Fairlead needs Node 26 or newer, and this is Node \d+\.\d+\.\d+ \(\/\S+\)\./,
      /Use the one of this clone: \S+\/node \S+\/fairlead\.js user add 'a b'$/,
    ],
  },
  {
    what: 'a Node that is too old, in a clone without packages',
    read: (t) => withOldNode(t, copyOf(t, ['package.json', 'bin/fairlead.js'])),
    says: [
      /^Fairlead needs Node 26 or newer/,
      /Run "npm ci" in \/\S+, which brings a newer one, then "npm start"\.$/,
    ],
  },
  {
    what: 'a Node that is too old, with the package',
    read: (t) =>
      program === launcher ? skip(t, 'the package is not built') : withOldNode(t, program),
    says: [
      /^Fairlead needs Node 26 or newer/,
      /Install a newer one, .*nodejs\.org\S*, then try again\.$/,
    ],
  },
  {
    what: 'missing packages',
    read: (t) => startWith(process.execPath, copyOf(t, ['package.json', 'bin', 'packages'])),
    says: [
      /^Fairlead cannot start: the package \S+ is missing\./,
      /Run "npm ci" in \/\S+, then try again\.$/,
    ],
  },
  {
    what: 'an unknown key with --strict',
    read: (t) => {
      const file = join(folderOf(t), 'mine.yml')
      writeFileSync(file, 'server.prot: 1\n')
      return startWith(process.execPath, launcher, ['check', '--strict', '--config', file])
    },
    says: [/mine\.yml:1: server\.prot: is not a known key/, /did you mean server\.port\?/],
  },
  {
    what: 'files and ports of others, and no home',
    read: (t) => {
      const folder = folderOf(t)
      chmodSync(folder, 0o755)
      writeFileSync(join(folder, 'secret.yml'), 'server.port: 80\n', { mode: 0o600 })
      writeFileSync(join(folder, 'key.pem'), keyPairOf('gateway', 'ec').keyPem, { mode: 0o600 })
      writeFileSync(join(folder, 'tls.yml'), tlsOf('key.pem', 'key.pem'))
      const args = ['check', '--config', 'secret.yml', '--config', 'tls.yml']
      const unreadable = asStranger(t, folder, args)
      if (unreadable === undefined) return undefined
      assert.match(unreadable, /^secret\.yml: may not be read by this user; give it the right$/m)
      assert.match(
        unreadable,
        /^tls\.yml:1: server\.ssl\.certificate: the file key\.pem may not be read by this user; give it the right$/m,
      )
      const obstacles = asStranger(t, folder, ['check'], { SERVER_PORT: '80' })
      const privileged = Number(
        readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'),
      )
      if (privileged > 80)
        assert.match(
          obstacles ?? '',
          /^This user may not listen on port 80\. Set server\.port \(SERVER_PORT\) to/m,
        )
      return obstacles
    },
    says: [
      /^The data directory \S+ cannot be written: .*\n?/,
      /Set data\.dir or FAIRLEAD_DATA_DIR to another one, or give this user write access\.$/m,
    ],
  },
  {
    what: 'the home of another user',
    read: (t) => {
      const home = folderOf(t)
      chmodSync(home, 0o700)
      return asStranger(
        t,
        '/tmp',
        ['check'],
        { HOME: home, SERVER_PORT: '0', FAIRLEAD_DATA_DIR: `/tmp/fairlead-${process.pid}` },
        0,
      )
    },
    says: [
      /^note: The directory \/\S+\/\.spinnaker is ignored: this user may not read it \(EACCES\)\.$/m,
      /^The configuration is in order\.$/m,
    ],
  },
]

for (const { what, read, says } of mistakes) {
  test(`${what}: the message says what failed and what to do`, async (t) => {
    const text = await read(t)
    if (text === undefined) return
    for (const part of says) assert.match(text, part)
    assert.doesNotMatch(text, /^\s+at |s3cret/m)
    for (const line of text.split('\n'))
      assert.ok(line.length <= maxLine, `${line.length} characters: ${line}`)
  })
}

function inFile(what: string, yaml: string, says: Mistake['says']): Mistake {
  return { what, says, read: async (t) => one(await problemsOf(t, { 'config/gate.yml': yaml })) }
}

function tlsOf(certificate: string, key: string): string {
  return `server.ssl: {certificate: ${certificate}, certificate-private-key: ${key}}\n`
}

function misuses(rows: readonly [line: string, failed: RegExp, advice: RegExp][]): Mistake[] {
  return rows.map(([line, ...says]) => ({
    what: `"${line}"`,
    says,
    read: async (t) => {
      const dataDir = folderOf(t)
      const text = await userOf(t, dataDir, line.split(' '), 2)
      assert.deepEqual(readdirSync(dataDir), [])
      return text
    },
  }))
}

function userCommand(t: TestContext, dataDir: string, ...args: string[]): Promise<string> {
  return userOf(t, dataDir, ['user', ...args], 1)
}

/** Runs a command that fails, in this process. */
async function userOf(
  t: TestContext,
  dataDir: string,
  args: readonly string[],
  expected: number,
): Promise<string> {
  const before = process.env['FAIRLEAD_DATA_DIR']
  process.env['FAIRLEAD_DATA_DIR'] = dataDir
  t.after(() => {
    if (before === undefined) delete process.env['FAIRLEAD_DATA_DIR']
    else process.env['FAIRLEAD_DATA_DIR'] = before
  })
  const { status, text } = await runCommand(args).then(
    () => assert.fail('it succeeded'),
    (error: unknown) => describeFailure(error),
  )
  assert.equal(status, expected)
  return one([text])
}

function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => assert.fail('it succeeded'),
    (error: unknown) => explainFailure(error),
  )
}

/** The only line. */
function one(lines: readonly string[]): string {
  assert.equal(lines.length, 1, lines.join('\n'))
  const [line = ''] = lines
  assert.ok(!line.includes('\n'), line)
  return line
}

function folderOf(t: TestContext): string {
  const folder = createFolder('mistake')
  t.after(() => removeFolder(folder))
  return folder
}

async function portOf(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  return (server.address() as { port: number }).port
}

/** What the log says first about a Redis. */
async function complaintOf(t: TestContext, connection: string): Promise<string> {
  const { config } = await load(t, {
    settings: { 'redis.connection': connection, 'redis.timeout': 300 },
  })
  assert.ok(config.redis)
  const log = logOf()
  const redis = await openRedis(config.redis, log.logger)
  try {
    return await waitFor(() => log.first(), `the complaint about ${connection}`)
  } finally {
    await redis.close()
  }
}

/** A log that keeps its messages. */
function logOf(): { logger: Logger; first: () => string | undefined } {
  const messages: string[] = []
  const write = (line: string) => void messages.push((JSON.parse(line) as { msg: string }).msg)
  return { logger: pino({ level: 'warn' }, { write }), first: () => messages[0] }
}

function skip(t: TestContext, reason: string): undefined {
  t.skip(reason)
  return undefined
}

/** Runs as a user without an entry in the list of users, whom only root can become. */
function asStranger(
  t: TestContext,
  cwd: string,
  args: string[],
  env: Record<string, string> = {},
  status = 1,
): string | undefined {
  if (process.getuid?.() !== 0) return skip(t, 'only root can become another user')
  const identity = [
    '--reuid',
    '23456',
    '--regid',
    '23456',
    '--clear-groups',
    '--',
    process.execPath,
    readableProgram(t),
    ...args,
  ]
  const run = spawnSync('setpriv', identity, {
    encoding: 'utf8',
    cwd,
    env: { ...sharedEnvironment, ...env },
  })
  assert.equal(run.status, status, run.stderr)
  return status === 0 ? run.stdout : run.stderr
}

/** The program, in a copy where other users cannot read the clone. */
function readableProgram(t: TestContext): string {
  if (spawnSync('test', ['-r', program], { uid: 23_456, gid: 23_456 }).status === 0) return program
  const copy = folderOf(t)
  chmodSync(copy, 0o755)
  cpSync(resolve(dirname(program), '..'), copy, { recursive: true })
  return join(copy, basename(dirname(program)), basename(program))
}

function withOldNode(t: TestContext, file: string, args?: readonly string[]): string | undefined {
  const old = findOldNode()
  return old === undefined ? skip(t, 'this machine has no old Node') : startWith(old, file, args)
}

/** The one line that the program writes when it cannot run. */
function startWith(node: string, file: string, args: readonly string[] = ['check']): string {
  const { status, stdout, stderr } = spawnSync(node, [file, ...args], {
    encoding: 'utf8',
    cwd: '/',
  })
  assert.equal(status, 1, stderr)
  assert.equal(stdout, '')
  return one([stderr.replace(/\n$/, '')])
}

/** Some of a clone, whose program it returns. */
function copyOf(t: TestContext, parts: readonly string[]): string {
  const clone = folderOf(t)
  for (const part of parts) cpSync(join(root, part), join(clone, part), { recursive: true })
  return join(clone, 'bin/fairlead.js')
}

/** Of the machine; tests run with the Node that npm has brought. */
function findOldNode(): string | undefined {
  const folders = (process.env['PATH'] ?? '')
    .split(':')
    .filter((folder) => !folder.includes('node_modules'))
  return folders
    .map((folder) => join(folder, 'node'))
    .filter((file) => existsSync(file))
    .find(
      (file) =>
        Number.parseInt(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout.slice(1), 10) <
        26,
    )
}
test('a start without file descriptors names the limit', () => {
  const error = Object.assign(new Error('listen EMFILE'), {
    code: 'EMFILE',
    syscall: 'listen',
    address: '/data/backends.sock',
  })
  assert.match(explainFailure(error), /too many open files .*backends\.sock.*ulimit -n/)
})
