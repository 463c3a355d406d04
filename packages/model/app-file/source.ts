/** The mark of applications, load balancers and pipelines that were made from an app file. */
import type { JsonObject } from '@fairlead/base/json/values.ts'

/** Value of their field `source`. */
export const appFileSource = 'app-file'

export function isFromAppFile(present: JsonObject | undefined): boolean {
  return present?.['source'] === appFileSource
}
