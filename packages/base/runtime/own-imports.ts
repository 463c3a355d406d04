/**
 * Imports of Fairlead's own files in a clone. Node would look for the package and the type of each of some 2,000 of them on the disk: a
 * third of the processor time until a thread has loaded. A bundle has no such files.
 *
 * Loading this module is enough for its thread; other threads take `ownImports` as arguments.
 */
import { registerHooks } from 'node:module'

const isSource = import.meta.url.endsWith('.ts')
const scope = '@fairlead/'

/** Arguments of Node for a thread. */
export const ownImports: readonly string[] = isSource ? ['--import', import.meta.url] : []

if (isSource) {
  const packages = import.meta.url.replace('base/runtime/own-imports.ts', '')
  registerHooks({
    resolve(specifier, context, next) {
      const url = locate(specifier, context.parentURL ?? '', packages)
      if (url === undefined) return next(specifier, context)
      return { url, format: 'module-typescript', shortCircuit: true }
    },
  })
}

/** What a package exports is a file by its path: test/structure.test.ts. Undefined for all that is not in a package of ours. */
function locate(specifier: string, importer: string, packages: string): string | undefined {
  if (!specifier.endsWith('.ts')) return undefined
  if (specifier.startsWith(scope)) return packages + specifier.slice(scope.length)
  const isOwn = specifier.startsWith('.') && importer.startsWith(packages)
  return isOwn ? new URL(specifier, importer).href : undefined
}
