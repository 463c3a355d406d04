/** A file of users and roles, as in Fiat: reloaded on change, cached while unreadable. */
import { readFileSync, statSync } from 'node:fs'
import { parseYaml } from '@fairlead/base/json/yaml.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { explainUnreadable } from '@fairlead/base/storage/file-fault.ts'
import { z } from 'zod'
import type { LoadedRoles, RoleSource } from './role-source.ts'
import { toRoleNames } from './roles.ts'

/** Tens of thousands of users; reading more would keep others waiting. */
const maxBytes = 4 * 1024 * 1024

const Listed = z.looseObject({
  users: z.array(
    z.looseObject({
      username: z.union([z.string(), z.number()]).transform(String),
      roles: z
        .union([z.array(z.string()), z.string().transform((text) => text.split(','))])
        .nullish(),
    }),
  ),
})

/** @throws {Error} whose message says what is wrong with the file, and names it */
export function readRoleFile(path: string): Map<string, string[]> {
  let text: string
  try {
    if (statSync(path).size > maxBytes)
      throw new Error(`the file ${path} is larger than ${maxBytes} bytes`)
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new Error(explainUnreadable(path, error))
  }
  return parseRoleFile(text, path)
}

function parseRoleFile(text: string, path: string): Map<string, string[]> {
  let content: unknown
  try {
    content = parseYaml(text)
  } catch (error) {
    throw new Error(`the file ${path} is no YAML: ${(error as Error).message.replace(/[.:]$/, '')}`)
  }
  const listed = Listed.safeParse(content)
  if (!listed.success) {
    const place = listed.error.issues[0]?.path.join('.') || 'users'
    throw new Error(
      `the file ${path} must be a list "users" whose entries have a "username" and a list of "roles"; see ${place}`,
    )
  }
  const byUser = new Map<string, string[]>()
  for (const { username, roles } of listed.data.users) {
    const key = toUserKey(username.trim())
    byUser.set(key, toRoleNames([...(byUser.get(key) ?? []), ...(roles ?? [])]))
  }
  return byUser
}

export class RoleFile implements RoleSource {
  readonly #path: string
  #seen = ''
  #content: Map<string, string[]> | undefined
  #problem: string | undefined

  constructor(path: string) {
    this.#path = path
  }

  hasChanged(): boolean {
    return this.#fingerprint() !== this.#seen
  }

  async load(users: readonly string[]): Promise<LoadedRoles> {
    const fingerprint = this.#fingerprint()
    if (fingerprint !== this.#seen) this.#read(fingerprint)
    const content = this.#content
    const roles = new Map(
      content === undefined ? [] : users.map((user) => [user, content.get(user) ?? []]),
    )
    return this.#problem === undefined ? { roles } : { roles, problem: this.#problem }
  }

  #read(fingerprint: string): void {
    this.#seen = fingerprint
    try {
      this.#content = readRoleFile(this.#path)
      this.#problem = undefined
    } catch (error) {
      this.#problem = (error as Error).message
    }
  }

  /** A file that is put in the place of the old one has another number, even with the same length at the same moment. */
  #fingerprint(): string {
    try {
      const { mtimeNs, size, ino } = statSync(this.#path, { bigint: true })
      return `${mtimeNs} ${size} ${ino}`
    } catch (error) {
      return `${(error as NodeJS.ErrnoException).code}`
    }
  }
}
