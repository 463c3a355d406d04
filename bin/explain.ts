/** `fairlead explain login`: explains step by step why a login succeeds or fails. */
import { readFileSync } from 'node:fs'
import type { Config } from '@fairlead/app/config/config.ts'
import {
  type Explanation,
  explainLogin,
  type MethodResult,
} from '@fairlead/app/doctor/explain-login.ts'
import { findMistake, findPublicAddress } from '@fairlead/app/doctor/public-address.ts'
import { parseObject } from '@fairlead/base/json/values.ts'
import { joinNames, type LoginCredentials } from '@fairlead/gateway/login/trace.ts'
import { choose, Misuse, readArguments } from './arguments.ts'
import { command } from './command-name.ts'
import { explainAccessCommand } from './explain-access.ts'
import { configOption, readConfig } from './read-config.ts'
import { readPassword } from './read-password.ts'

const explanations = { login: explainLoginCommand, access: explainAccessCommand }

const options = {
  user: { type: 'string' },
  password: { type: 'boolean', default: false },
  token: { type: 'string' },
  certificate: { type: 'string' },
  'saml-response': { type: 'string' },
  'id-token': { type: 'string' },
  claims: { type: 'string' },
  registration: { type: 'string' },
  'public-url': { type: 'string' },
  at: { type: 'string' },
  json: { type: 'boolean', default: false },
  ...configOption,
} as const

export async function run(args: readonly string[]): Promise<number> {
  const [named = ''] = args
  return choose(explanations, named.startsWith('-') ? '' : named, 'explain')(args)
}

async function explainLoginCommand(args: readonly string[]): Promise<number> {
  const values = toQuestion(args)
  const now = values.at === undefined ? undefined : toClock(values.at)
  const { config } = await readConfig(args)
  const explanation = await explainLogin({
    config,
    credentials: await toCredentials(values, config),
    command,
    ...(now && { now }),
  })
  print(values.json, explanation)
  // A peer that neither answers nor closes must not keep the command from ending.
  setTimeout(() => process.exit(), 1000).unref()
  return explanation.admitted ? 0 : 1
}

type Values = ReturnType<typeof toQuestion>

/** @throws {Misuse} */
function toQuestion(args: readonly string[]) {
  const { values } = readArguments(args, { command: 'explain login', options, words: 1 })
  const ways = ['user', 'token', 'certificate', 'saml-response', 'id-token', 'claims'] as const
  const given = ways.filter((way) => values[way] !== undefined)
  if (given.length !== 1)
    throw new Misuse('explain login', `Name the credentials, with one of --${ways.join(', --')}.`)
  const mistake = values['public-url'] === undefined ? undefined : findMistake(values['public-url'])
  if (mistake !== undefined) throw new Misuse('explain login', `--public-url ${mistake}.`)
  return values
}

/** @throws {Error} when a file cannot be read */
async function toCredentials(values: Values, config: Config): Promise<LoginCredentials> {
  const { user, registration } = values
  if (user !== undefined) {
    return {
      kind: 'password',
      username: user,
      password: values.password ? await readPassword() : undefined,
    }
  }
  if (values.token !== undefined) {
    return {
      kind: 'token',
      text: values.token === '-' ? (await readPassword()).trim() : values.token,
    }
  }
  if (values.certificate !== undefined)
    return { kind: 'certificate', pem: readText(values.certificate) }
  if (values['saml-response'] !== undefined) {
    const { url: baseUrl } = findPublicAddress(config, values['public-url'])
    return { kind: 'saml-response', text: readText(values['saml-response']), baseUrl }
  }
  if (values['id-token'] !== undefined)
    return { kind: 'id-token', text: readText(values['id-token']).trim(), registration }
  return { kind: 'claims', claims: readObject(values.claims ?? ''), registration }
}

function toClock(text: string): () => number {
  const timeMs = Date.parse(text)
  if (Number.isNaN(timeMs))
    throw new Misuse('explain login', '--at must be a time such as 2026-01-31T12:00:00Z.')
  return () => timeMs
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

function readObject(file: string): Record<string, unknown> {
  const value = parseObject(readText(file))
  if (value !== undefined) return value
  throw new Error(`${file} holds no JSON object`)
}

function print(json: boolean, explanation: Explanation): void {
  process.stdout.write(
    json ? `${JSON.stringify(explanation, null, 2)}\n` : formatExplanation(explanation),
  )
}

const marks = { yes: 'yes ', no: 'no  ', note: '-   ' } as const

export function formatExplanation(explanation: Explanation): string {
  const { judgements, user, roles, permissions, notes, admitted } = explanation
  return [
    ...notes.map((note) => `note: ${note}`),
    ...judgements.flatMap(formatResult),
    ...(user === undefined
      ? []
      : [
          `User: ${user.username}, e-mail address ${user.email ?? 'none'}, name ${[user.firstName, user.lastName].filter(Boolean).join(' ') || 'none'}`,
          `Roles: ${joinNames(roles.map(({ role, from }) => `${role} (${from})`))}`,
          `Accounts: ${joinNames(user.allowedAccounts)}`,
        ]),
    ...permissions.map((sentence) => `Permission service: ${sentence}`),
    ...(judgements.length === 0 && !admitted
      ? ['No login method of this configuration takes this.']
      : []),
    '',
  ].join('\n')
}

function formatResult({ method, steps, user, reason }: MethodResult): string[] {
  const result = user === undefined ? `Not let in: ${reason}` : `Let in as ${user.username}`
  return [
    `Login by ${method}`,
    ...steps.map(({ verdict, text }) => `  ${marks[verdict]} ${text}`),
    result,
    '',
  ]
}
