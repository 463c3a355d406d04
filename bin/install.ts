/** `fairlead install --systemd`: units for the server, its agent and the back ends, their user, and a first configuration. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { Misuse, readArguments } from './arguments.ts'

const options = {
  systemd: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
} as const

/** One folder above this file, in the repository and in the published package. */
const folder = new URL('../deploy/systemd/', import.meta.url)
export const configFile = '/etc/fairlead/fairlead.yml'
/** Unit of a Debian package, which brings its own. */
const packagedUnit = '/usr/lib/systemd/system/fairlead.service'

interface InstalledFile {
  readonly path: string
  readonly text: string
  /** Text of a first configuration, which may be replaced. */
  readonly untouched?: string
}

export async function run(args: readonly string[]): Promise<number> {
  const { values } = readArguments(args, { command: 'install', options })
  if (!values.systemd) throw new Misuse('install', 'Say what to install for: --systemd.')
  const program = programWords()
  const files = filesFor(program)
  if (values['dry-run']) {
    say(files.map(({ path, text }) => `# ${path}\n${text}`).join('\n'))
    return 0
  }
  checkMachine(program)
  createUser()
  for (const file of files) install(file)
  reloadUnits()
  say(`
Next:
  ${configFile}               set what differs from the defaults
  systemctl enable --now fairlead           start it now and at boot; after an upgrade: systemctl restart fairlead
  journalctl --unit fairlead                read its log, with the password of the first start`)
  return 0
}

/** This Node and this program. */
export function programWords(): string[] {
  return [process.execPath, realpathSync(process.argv[1] ?? '')]
}

export function reloadUnits(): void {
  execFileSync('systemctl', ['daemon-reload'])
}

/** @param config Text of a first configuration, in place of the usual one */
export function filesFor(program: readonly string[], config?: string): InstalledFile[] {
  const words = program.map((word) => `"${word.replaceAll('%', '%%')}"`).join(' ')
  const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')
  const units = readdirSync(folder).filter((name) => name.endsWith('.service'))
  return [
    ...units.sort().map((name) => ({
      path: `/etc/systemd/system/${name}`,
      text: read(name).replace('ExecStart=/usr/bin/fairlead', () => `ExecStart=${words}`),
    })),
    { path: configFile, text: config ?? read('fairlead.yml'), untouched: read('fairlead.yml') },
  ]
}

/** Whether the Debian package has brought the units and the user. */
export function isPackaged(): boolean {
  return existsSync(packagedUnit)
}

/** @throws {Error} where the units could not work, or may not be written */
export function checkMachine(program: readonly string[]): void {
  const nothing = 'so nothing was changed; --dry-run prints the files'
  if (process.getuid?.() !== 0)
    throw new Error(`Only root may install units, ${nothing}. Run the command with sudo.`)
  if (!existsSync('/run/systemd/system'))
    throw new Error(`systemd does not run on this machine, ${nothing}.`)
  if (isPackaged()) {
    throw new Error(
      `The Debian package has installed ${packagedUnit}, ${nothing}. Run: systemctl enable --now fairlead`,
    )
  }
  const hidden = program.find((path) => /^\/(home|root|run\/user)\//.test(path))
  if (hidden !== undefined) {
    throw new Error(
      `Units cannot read ${hidden} in a home directory, ${nothing}. Install Node and Fairlead for all users.`,
    )
  }
}

export function createUser(): void {
  if (spawnSync('id', ['fairlead']).status === 0) {
    say('The user fairlead exists.')
    return
  }
  const home = ['--home-dir', '/var/lib/fairlead', '--shell', '/usr/sbin/nologin']
  execFileSync('useradd', ['--system', '--user-group', ...home, 'fairlead'])
  say('Created the user fairlead.')
}

export function install({ path, text, untouched }: InstalledFile): void {
  const present = existsSync(path) ? readFileSync(path, 'utf8') : undefined
  if (present === text) say(`${path} is up to date.`)
  else if (present !== undefined && untouched !== undefined && present !== untouched)
    say(`Kept ${path}.`)
  else {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode: 0o644 })
    say(`Wrote ${path}.`)
  }
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
