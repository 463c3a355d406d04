/** Rights that a user lacks for what is sent to a service that checks the last of several users only. */
import { isObject, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { type Access, describeMissing } from './access.ts'
import { accountOf } from './cloud-values.ts'

/** @returns a sentence; undefined: none is missing */
export function missingRight(body: unknown, access: Access): string | undefined {
  for (const description of descriptionsIn(body)) {
    const account = accountOf(description) ?? textOf(description['account_name'])
    if (account !== undefined && !access.mayOnAccount(account, 'WRITE'))
      return `This needs WRITE on the account ${account}; ${access.user} has not got it.`
    const application = textOf(description['application'])
    if (application !== undefined && !access.mayOnApplication(application, 'WRITE'))
      return describeMissing(access, 'WRITE', application)
  }
  return undefined
}

/** Operations are a list of objects with a description under the name of the operation; other bodies are descriptions themselves. */
function descriptionsIn(body: unknown): JsonObject[] {
  if (Array.isArray(body)) return body.flatMap((one) => [one, ...(isObject(one) ? Object.values(one) : [])]).filter(isObject)
  return isObject(body) ? [body] : []
}
