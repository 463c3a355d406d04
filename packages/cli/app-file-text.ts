/** A first app file, with comments that say what else it may have. */
import type { DetectedApp } from '@fairlead/model/app-file/detect/detected.ts'
import { stringify } from 'yaml'

interface FirstAppFile {
  readonly name: string
  readonly host: string
  readonly detected: DetectedApp
  /** That the app may need. */
  readonly variables: readonly string[]
  /** Address of the JSON schema, for editors. */
  readonly schema: string | undefined
}

export function formatAppFile({ name, host, detected, variables, schema }: FirstAppFile): string {
  const { because, title, release, language } = detected
  const databases = detected.databases.filter((type) => type !== 'sqlite')
  const lines = [
    ...(schema === undefined ? [] : [`# yaml-language-server: $schema=${schema}`]),
    `# Found: ${title}${because.length === 0 ? '' : ` (${because.join(', ')})`}. Deploy it with: fairlead deploy`,
    `application: ${name}`,
    ...buildLines(language),
    '',
    'services:',
    ...detected.services.flatMap((service) => serviceLines(service, detected, host)),
    '',
    ...(release === undefined
      ? [
          '# release: COMMAND                  # runs once with the new version, before it gets requests',
        ]
      : [stringify({ release }, { lineWidth: 0 }).trim()]),
    ...(databases.length === 0
      ? []
      : [`# attach: { ${databases.map((type) => `${names[type]}: ${type}`).join(', ')} }`]),
    '# env: { LOG_LEVEL: info }',
    `# secrets: [${variables.join(', ') || 'SESSION_KEY'}]              # values by: fairlead secret set ${variables[0] ?? 'SESSION_KEY'}`,
    '# environments:                       # the first is the target of deploy',
    `#   staging: { hosts: [staging.${host}] }`,
    '#   production: {}',
  ]
  return `${lines.join('\n')}\n`
}

/** Names of databases, by type. */
const names: Readonly<Record<Exclude<DetectedApp['databases'][number], 'sqlite'>, string>> = {
  ...{ postgresql: 'db', mariadb: 'mysql', redis: 'cache', valkey: 'cache' },
}

/** Names the chosen one of several Go programs; each build detects the rest again. */
function buildLines(language: DetectedApp['language']): string[] {
  if (language.kind !== 'go' || language.target === '.' || language.target.endsWith('...'))
    return []
  return [
    `build: { steps: [${JSON.stringify(`go build -o ${language.binary} ${language.target}`)}] }`,
  ]
}

/** The command of the web is found again by each build; others have no place but this file. */
function serviceLines(
  { name, command, isWeb }: DetectedApp['services'][number],
  { port, health, language }: DetectedApp,
  host: string,
): string[] {
  const isWritten = !isWeb || buildLines(language).length > 0
  const written = command === undefined ? [] : [stringify({ command }, { lineWidth: 0 }).trim()]
  const known = command === undefined ? [] : [`# command: ${command}`]
  const what = isSite(language) ? 'pages' : 'requests'
  const web = [
    `hosts: [${host}]${' '.repeat(Math.max(1, 22 - host.length))}# ${what} to these names`,
    ...(port === undefined ? [] : [`port: ${port}`]),
    health === undefined
      ? '# health: /healthz               # path that answers when it is ready; else its port is enough'
      : `health: ${health}`,
    '# instances: 2',
  ]
  const lines = [...(isWritten ? written : known), ...(isWeb ? web : ['instances: 1'])]
  return [`  ${name}:`, ...lines.map((line) => `    ${line}`)]
}

function isSite(language: DetectedApp['language']): boolean {
  return language.kind === 'static' || (language.kind === 'node' && language.pages !== undefined)
}
