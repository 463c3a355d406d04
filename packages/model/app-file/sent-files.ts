/** Files of a folder that builds take: secrets, programs of others and the data of an instance stay behind. */

const neverSent: ReadonlySet<string> = new Set(['.git', 'node_modules', '.venv'])
/** It may also be the data directory of an instance. */
export const ownFolder = '.fairlead'
const ownFiles: ReadonlySet<string> = new Set([`${ownFolder}/app.yml`, `${ownFolder}/build.yml`])

/** @param path Of a file or a folder, with `/` */
export function isSent(path: string): boolean {
  const names = path.split('/')
  if (names.some((name) => neverSent.has(name) || name.startsWith('.env'))) return false
  return path === ownFolder || !isForeign(path)
}

/** Whether it belongs to the data of an instance. */
export function isForeign(path: string): boolean {
  return path.split('/')[0] === ownFolder && !ownFiles.has(path)
}
