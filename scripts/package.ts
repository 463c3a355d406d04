/** Builds the Debian package, with the Node of this repository: `npm run package`. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { buildPackage } from './build.ts'

const root = resolve(import.meta.dirname, '..')
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }
const home = 'usr/lib/fairlead'

interface PackageOptions {
  /** What `buildPackage` has written. */
  readonly dist: string
  readonly outDir: string
  readonly version: string
  /** For `dpkg-deb`, such as `['-Znone']`. */
  readonly compression?: readonly string[]
}

/** @returns the file of the package */
export function writeDebianPackage({
  dist,
  outDir,
  version,
  compression = ['-Zxz'],
}: PackageOptions): string {
  const architecture = architectures[process.arch]
  if (architecture === undefined)
    throw new Error(`There is no Debian package for ${process.arch}: use npm pack.`)
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-debian-'))
  const mask = process.umask(0o022)
  try {
    chmodSync(folder, 0o755)
    placeFiles(folder, dist, version)
    const size = execFileSync('du', ['-sk', folder]).toString().split('\t')[0] ?? ''
    placeControl(folder, { Version: version, Architecture: architecture, 'Installed-Size': size })
    const file = join(outDir, `fairlead_${version}_${architecture}.deb`)
    execFileSync('dpkg-deb', ['--root-owner-group', ...compression, '--build', folder, file], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return file
  } finally {
    process.umask(mask)
    rmSync(folder, { recursive: true, force: true })
  }
}

function placeFiles(folder: string, dist: string, version: string): void {
  const place = (from: string, to: string, mode = 0o644) => {
    const target = join(folder, to)
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(from, target)
    chmodSync(target, mode)
  }
  cpSync(dist, join(folder, home, 'dist'), { recursive: true, dereference: true })
  for (const file of globSync('deploy/{monitoring,systemd}/*', { cwd: root }))
    place(join(root, file), join(home, file))
  for (const unit of globSync('deploy/systemd/*.service', { cwd: root })) {
    place(join(root, unit), join('usr/lib/systemd/system', unit.slice('deploy/systemd/'.length)))
  }
  place(join(root, 'deploy/systemd/fairlead.yml'), 'etc/fairlead/fairlead.yml')
  place(process.execPath, join(home, 'bin/node'), 0o755)
  const description = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object
  writeFileSync(join(folder, home, 'package.json'), JSON.stringify({ ...description, version }))
  useOwnNode(join(folder, home, 'dist/fairlead.js'))
  mkdirSync(join(folder, 'usr/bin'), { recursive: true })
  symlinkSync('../lib/fairlead/dist/fairlead.js', join(folder, 'usr/bin/fairlead'))
  place(join(root, 'CHANGELOG.md'), 'usr/share/doc/fairlead/CHANGELOG.md')
  place(join(root, 'LICENSE'), 'usr/share/doc/fairlead/copyright')
  for (const licence of globSync('node_modules/{,node/node_modules/}node-linux-*/LICENSE', {
    cwd: root,
  })) {
    place(join(root, licence), 'usr/share/doc/fairlead/node-LICENSE')
  }
}

/** Debian's own Node, if there is one, is another. */
function useOwnNode(file: string): void {
  const text = readFileSync(file, 'utf8')
  const first = '#!/usr/bin/env node\n'
  if (!text.startsWith(first)) throw new Error(`${file} does not begin with ${first.trim()}`)
  writeFileSync(file, `#!/${home}/bin/node\n${text.slice(first.length)}`, { mode: 0o755 })
}

function placeControl(folder: string, fields: Readonly<Record<string, string>>): void {
  const control = {
    Package: 'fairlead',
    ...fields,
    Maintainer: 'Fairlead maintainers <maintainers@fairlead.invalid>',
    Section: 'admin',
    Priority: 'optional',
    Depends: 'adduser, init-system-helpers, libc6 (>= 2.28), libstdc++6, libatomic1',
    Recommends: 'systemd, git, bubblewrap',
    Description:
      "API gateway of a continuous-delivery platform\n A drop-in for Spinnaker's Gate, and a complete platform in one process.",
  }
  const own = join(folder, 'DEBIAN')
  mkdirSync(own)
  writeFileSync(
    join(own, 'control'),
    Object.entries(control)
      .map(([name, value]) => `${name}: ${value}\n`)
      .join(''),
  )
  writeFileSync(join(own, 'conffiles'), '/etc/fairlead/fairlead.yml\n')
  for (const script of ['postinst', 'prerm', 'postrm']) {
    copyFileSync(join(root, 'deploy/debian', script), join(own, script))
    chmodSync(join(own, script), 0o755)
  }
}

if (import.meta.main) {
  const dist = join(root, 'dist')
  await buildPackage(dist)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  console.log(writeDebianPackage({ dist, outDir: root, version }))
}
