/** The key of the secrets, their files, and the login at Vault. */
import { existsSync } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
} from '@fairlead/base/findings/finding.ts'
import { keyIdOf } from '@fairlead/engine/secrets/encryption.ts'
import { keyFileFor } from '@fairlead/engine/secrets/key-file.ts'
import { loadKeys } from '@fairlead/engine/secrets/keys.ts'
import type { VaultSettings } from '@fairlead/engine/secrets/settings.ts'
import { VaultClient } from '@fairlead/engine/secrets/vault-secrets.ts'
import type { Config } from '../config/config.ts'

const subject = 'Secrets'

export function checkSecrets({ backends }: Pick<Config, 'backends'>): Check[] {
  const { keyFile, files, vault } = backends.secrets
  const directory = files?.directory
  const database = join(backends.dataDir, 'backends.db')
  return [
    ...(existsSync(database)
      ? [
          createCheck(subject, (report) =>
            checkSecretKeys(database, keyFileFor(backends.dataDir, keyFile), report),
          ),
        ]
      : []),
    ...(directory === undefined
      ? []
      : [createCheck(`${subject}, files`, (report) => checkSecretFiles(directory, report))]),
    ...(vault === undefined
      ? []
      : [createCheck(`${subject}, Vault`, (report) => checkVault(vault, report))]),
  ]
}

/** Without secrets there is nothing to look at. */
async function checkSecretKeys(
  database: string,
  file: string,
  report: Reporter,
): Promise<Finding[]> {
  const sealed = readSealed(database)
  if (sealed.length === 0) return []
  const tried = `look for the keys of ${sealed.length} secrets in ${file}`
  const keys = loadKeys(file) ?? []
  const known = new Set(keys.map(({ id }) => id))
  const lost = sealed.filter(({ key }) => !known.has(key))
  const missing = [...new Set(lost.map(({ key }) => key))].join(', ')
  if (lost.length > 0) {
    const names = lost.slice(0, 5).map(({ name }) => name)
    const found = `${keys.length === 0 ? 'there is no such file' : 'keys are missing'}: ${names.join(', ')} need ${missing}`
    return [
      report.problem(
        tried,
        found,
        'restore the key file from its copy, or set these secrets again',
      ),
    ]
  }
  return [report.ok(tried, 'all are there'), await checkMode(file, dirname(database), report)]
}

function readSealed(database: string): { name: string; key: string }[] {
  const db = new DatabaseSync(database, { readOnly: true })
  try {
    const [table] = db
      .prepare("SELECT name FROM sqlite_schema WHERE name = 'secrets_entries'")
      .all()
    if (table === undefined) return []
    const rows = db
      .prepare('SELECT scope, name, sealed FROM secrets_entries WHERE sealed IS NOT NULL')
      .all()
    return rows.map(({ scope, name, sealed }) => ({
      name: `${scope}/${name}`,
      key: keyIdOf(String(sealed)),
    }))
  } finally {
    db.close()
  }
}

async function checkMode(file: string, dataDir: string, report: Reporter): Promise<Finding> {
  const tried = 'look at the key file'
  const mode = (await stat(file)).mode & 0o777
  if ((mode & 0o077) !== 0)
    return report.warning(
      tried,
      `${mode.toString(8)}: others may read it`,
      'chmod 600, or a credential of systemd',
    )
  if (dirname(file) !== dataDir)
    return report.ok(tried, 'only its owner may read it, and it is not in the data directory')
  return report.ok(
    tried,
    'only its owner may read it. Keep it out of backups of the data directory, and a copy elsewhere',
  )
}

async function checkSecretFiles(directory: string, report: Reporter): Promise<Finding[]> {
  const tried = `look into ${directory}`
  try {
    if (!(await stat(directory)).isDirectory()) throw new Error('it is no directory')
    await access(directory, constants.R_OK | constants.X_OK)
    return [report.ok(tried, 'this user may read it')]
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return [
      report.problem(
        tried,
        code ?? message,
        'correct secrets.files.directory, or give this user access',
      ),
    ]
  }
}

async function checkVault(settings: VaultSettings, report: Reporter): Promise<Finding[]> {
  const tried = `log in at ${settings.address}`
  const advice = 'correct the login below secrets.vault, and its role in Vault'
  try {
    const { status } = await new VaultClient(settings, () => performance.now()).get(
      'auth/token/lookup-self',
    )
    const found = `Vault answered ${status}`
    return [
      status === 200 ? report.ok(tried, 'the token counts') : report.problem(tried, found, advice),
    ]
  } catch (error) {
    return [report.problem(tried, (error as Error).message, advice)]
  }
}
