/** Parameters of operations that name applications and accounts. */
import type { OperationRequest } from '../operation.ts'

/** Generated clients know both names. */
const applicationParameters = ['application', 'applicationName'] as const
export const accountParameters = ['account', 'accountName'] as const

type ParameterValues = Readonly<Record<string, string>>

export function applicationsInPath(path: ParameterValues): string[] {
  return inPath(path, applicationParameters)
}

export function accountsInPath(path: ParameterValues): string[] {
  return inPath(path, accountParameters)
}

function inPath(path: ParameterValues, names: readonly string[]): string[] {
  const found: string[] = []
  for (const name of names) if (path[name] !== undefined) found.push(path[name])
  return found
}

export function valuesOf({ path, query }: OperationRequest, names: readonly string[]): string[] {
  return names
    .flatMap((name) => path[name] ?? query[name] ?? [])
    .map(String)
    .filter((value) => value.trim() !== '')
}
