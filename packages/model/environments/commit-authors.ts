/** Authors of commits with the addresses by which they are told; readers of runs and builds see their names alone. */
import { shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isObject,
  type JsonObject,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'

export const toAuthor = shape({
  name: textOf,
  email: textOf,
  /** At the code host. */
  login: [textOf, 'login', 'username'],
})

export type CommitAuthor = { readonly [key in 'name' | 'email' | 'login']?: string }

export function distinctAuthors(authors: readonly CommitAuthor[]): CommitAuthor[] {
  const keyOf = ({ name, email, login }: CommitAuthor) => email ?? login ?? name
  return [...new Map(authors.map((author) => [keyOf(author), definedOf(author)])).values()].filter(
    (author) => keyOf(author) !== undefined,
  )
}

/** A build, as lists and records show it: commits without the `contact` of their author. */
export function withoutContacts<T extends JsonObject>(build: T): T {
  const commits = build['scm']
  if (!Array.isArray(commits)) return build
  const scm = commits.map((commit) => {
    if (!isObject(commit)) return commit
    const { contact: _contact, ...shown } = commit
    return shown
  })
  return { ...build, scm }
}

const toCommit = shape({ committer: textOf, contact: toAuthor })

export function contactsOf(build: unknown): CommitAuthor[] {
  const commits = isObject(build) ? objectsOf(build['scm']).map(toCommit) : []
  return distinctAuthors(
    commits.map(({ committer: name, contact }) => definedOf({ ...contact, name })),
  )
}

/** What a trigger brings: `authors` of a push, and contacts of the commits of its build. */
export function takeAuthors<T extends JsonObject>(
  trigger: T,
): { readonly trigger: T; readonly authors: CommitAuthor[] } {
  const { authors: pushed, ...shown } = trigger
  const { buildInfo } = shown
  const authors = distinctAuthors([...objectsOf(pushed).map(toAuthor), ...contactsOf(buildInfo)])
  const kept = isObject(buildInfo) ? { ...shown, buildInfo: withoutContacts(buildInfo) } : shown
  return { trigger: kept as unknown as T, authors }
}
