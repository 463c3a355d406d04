/** `fairlead setup server`: a server of one's own, from the packages to the address to open. May be repeated. */
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { fieldAt, textOf } from '@fairlead/base/json/values.ts'
import { readHost } from '@fairlead/base/names/host-name.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { parse, stringify } from 'yaml'
import { choose, Misuse, readArguments } from './arguments.ts'
import {
  checkMachine,
  configFile,
  createUser,
  filesFor,
  install,
  isPackaged,
  programWords,
  reloadUnits,
  say,
} from './install.ts'

const options = {
  host: { type: 'string' },
  email: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
} as const

const administrator = 'admin'
const dataDir = '/var/lib/fairlead/data'
const port = 8084

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, { command: 'setup', options, words: 1 })
  choose({ server: true }, positionals[0] ?? '', 'setup')
  const email = checkedEmail(values.email)
  const program = programWords()
  const host = checkedHost(values.host)
  const files = filesFor(program, configOf(email, host))
  if (values['dry-run']) {
    say(files.map(({ path, text }) => `# ${path}\n${text}`).join('\n'))
    return 0
  }
  if (isPackaged()) {
    for (const file of files.filter(({ path }) => path === configFile)) install(file)
  } else {
    checkMachine(program)
    createUser()
    for (const file of files) install(file)
    reloadUnits()
  }
  const password = createAdministrator(program)
  execFileSync('systemctl', ['enable', '--now', 'fairlead'], { stdio: 'inherit' })
  say(lastWords(password, servedHost()))
  return 0
}

/** @throws {Misuse} */
function checkedEmail(written: string | undefined): string | undefined {
  const [name = '', domain = '', ...more] = written?.split('@') ?? []
  const isAddress = name !== '' && domain.includes('.') && more.length === 0
  if (written === undefined || (isAddress && !/\s/.test(written))) return written
  throw new Misuse('setup', `--email "${written}" is no address, such as you@example.com.`)
}

/** @throws {Misuse} */
function checkedHost(written: string | undefined): string | undefined {
  if (written === undefined) return undefined
  const host = readHost(written)
  if (typeof host === 'object' && !host.name.startsWith('*.')) return host.name
  throw new Misuse('setup', `--host "${written}" is no host, such as fairlead.example.com.`)
}

/** Host in the configuration, which may be one that was there before. */
function servedHost(): string | undefined {
  const settings: unknown = parse(readFileSync(configFile, 'utf8'))
  return textOf(fieldAt(settings, standalone.provider, 'front', 'instance-host'))
}

function configOf(email: string | undefined, host: string | undefined): string {
  const acme = {
    ...(email !== undefined && { email }),
    ...(host !== undefined && { directory: 'letsencrypt' }),
  }
  const front = {
    ...(host !== undefined && { 'instance-host': host }),
    ...(Object.keys(acme).length > 0 && { acme }),
  }
  const settings = {
    ...(host !== undefined && { server: { 'forward-headers-strategy': 'native' } }),
    local: {
      ...(Object.keys(front).length > 0 && { front }),
      accounts: [{ name: standalone.account, front: { address: '0.0.0.0', http: 80, https: 443 } }],
    },
  }
  return `# The configuration of Fairlead, written by fairlead setup server. Apply changes with: systemctl reload fairlead
# (changes of accounts need: systemctl restart fairlead)
${stringify(settings)}`
}

/** @returns its password; undefined where there are users already */
function createAdministrator(program: readonly string[]): string | undefined {
  const asFairlead = (words: readonly string[], input?: string) =>
    spawnSync('runuser', ['--user', 'fairlead', '--', ...program, ...words], {
      cwd: '/',
      env: { PATH: process.env['PATH'], FAIRLEAD_DATA_DIR: dataDir, HOME: '/var/lib/fairlead' },
      encoding: 'utf8',
      input,
    })
  execFileSync('install', [
    '-d',
    '-o',
    'fairlead',
    '-g',
    'fairlead',
    '-m',
    '750',
    '/var/lib/fairlead',
  ])
  const listed = asFairlead(['user', 'list', '--config', configFile])
  if (listed.status !== 0)
    throw new Error(`The users cannot be listed: ${listed.stderr.trim() || listed.error?.message}`)
  if (listed.stdout.trim() !== '') {
    say('There are users already; none was created.')
    return undefined
  }
  const password = randomBytes(15).toString('base64url')
  const words = ['user', 'add', administrator, '--role', 'admins', '--config', configFile]
  const created = asFairlead(words, `${password}\n`)
  if (created.status !== 0)
    throw new Error(`The administrator was not created: ${created.stderr.trim()}`)
  return password
}

function lastWords(password: string | undefined, host: string | undefined): string {
  const login =
    password === undefined
      ? []
      : [
          `Log in as ${administrator} with ${password}`,
          '  It is shown this once: fairlead user passwd changes it.',
        ]
  return [
    '',
    ...(host === undefined
      ? [
          `Open http://127.0.0.1:${port} from your machine through SSH:`,
          `  ssh -L ${port}:127.0.0.1:${port} ${hostname()}`,
        ]
      : [
          `Open https://${host} as soon as it has its certificate, a minute after its DNS record is right.`,
        ]),
    ...login,
    ...firewallHint(),
  ].join('\n')
}

function firewallHint(): string[] {
  const hints = [
    {
      tool: 'ufw',
      isActive: /^Status: active/m,
      words: ['status'],
      advice: 'ufw allow 80,443/tcp',
    },
    {
      tool: 'firewall-cmd',
      isActive: /^running/m,
      words: ['--state'],
      advice:
        'firewall-cmd --permanent --add-service=http --add-service=https && firewall-cmd --reload',
    },
  ]
  for (const { tool, words, isActive, advice } of hints) {
    const { stdout } = spawnSync(tool, words, { encoding: 'utf8' })
    if (isActive.test(stdout ?? '')) return [`The firewall is on. Let requests in with: ${advice}`]
  }
  return ['Ports 80 and 443 have to be open, also in the firewall of your provider.']
}
