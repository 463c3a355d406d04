/** Calls that change something at Jenkins, with the crumb that it wants against forged requests. */
import { shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import type { OutsideAnswer } from '@fairlead/base/outside/call-outside.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { ServerCalls } from '../server-calls.ts'

/** What it answers to a post: pages for people are redirects, refusals are the caller's. */
const expects = [302, 303, 400, 403, 404, 405, 409]

const toCrumb = shape({ crumbRequestField: textOf, crumb: textOf })

export class JenkinsPosts {
  readonly #calls: ServerCalls
  readonly #name: string
  #isCrumbWanted: boolean
  /** Headers of the crumb, and of the session that it belongs to. */
  #crumb: Readonly<Record<string, string>> | undefined

  constructor(
    calls: ServerCalls,
    { name, csrf }: { readonly name: string; readonly csrf: boolean },
  ) {
    this.#calls = calls
    this.#name = name
    this.#isCrumbWanted = csrf
  }

  /** @throws {PortError} 502 when Jenkins rejects the call */
  async post(path: string, form: Readonly<Record<string, string>> = {}): Promise<OutsideAnswer> {
    if (this.#isCrumbWanted) this.#crumb ??= await this.#loadCrumb()
    const answer = await this.#send(path, form)
    if (answer.status !== 403) return answer
    // The crumb is missing, or of a session that has ended.
    this.#crumb = await this.#loadCrumb()
    const second = this.#crumb === undefined ? answer : await this.#send(path, form)
    if (second.status !== 403) return second
    throw new PortError(
      502,
      `The build server "${this.#name}" rejected the call (403). Check the user of jenkins.masters and what it may do, such as Job/Build.`,
    )
  }

  #send(path: string, form: Readonly<Record<string, string>>): Promise<OutsideAnswer> {
    return this.#calls.send(path, {
      method: 'POST',
      form,
      expects,
      ...(this.#crumb !== undefined && { headers: this.#crumb }),
    })
  }

  /** Undefined where Jenkins wants none. */
  async #loadCrumb(): Promise<Readonly<Record<string, string>> | undefined> {
    const answer = await this.#calls.send('/crumbIssuer/api/json', { expects: [404] })
    if (answer.status === 404) return undefined
    const { crumbRequestField: field, crumb } = toCrumb(JSON.parse(answer.text))
    if (field === undefined || crumb === undefined) return undefined
    this.#isCrumbWanted = true
    const cookies = [answer.headers['set-cookie'] ?? []]
      .flat()
      .map((cookie) => cookie.split(';', 1)[0] ?? '')
    return {
      [field.toLowerCase()]: crumb,
      ...(cookies.length > 0 && { cookie: cookies.join('; ') }),
    }
  }
}
