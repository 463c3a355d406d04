/** Versions of languages that files for their version managers pin. */
import type { AppFolder, VersionDemand } from './detected.ts'

/** Files by language, in the order in which they count. */
const files = {
  node: ['.nvmrc', '.node-version', '.tool-versions'],
  python: ['.python-version', 'runtime.txt', '.tool-versions'],
} as const
/** Major versions of Node by their names, as in `lts/jod`. */
const releases: Readonly<Record<string, string>> = {
  ...{ argon: '4', boron: '6', carbon: '8', dubnium: '10', erbium: '12', fermium: '14' },
  ...{ gallium: '16', hydrogen: '18', iron: '20', jod: '22', krypton: '24' },
}

/** Undefined: no file has one, or only such as `lts/*`. */
export async function pinnedVersion(
  { read }: AppFolder,
  language: keyof typeof files,
): Promise<VersionDemand | undefined> {
  for (const place of files[language]) {
    const lines = ((await read(place)) ?? '')
      .split('\n')
      .map((line) => line.replace(/#.*/, '').trim())
    const named = lines.map((line) => /^(node|python)(?:js)?\s+(\S+)/.exec(line))
    const first =
      place === '.tool-versions'
        ? named.find((found) => found?.[1] === language)?.[2]
        : lines.find((line) => line !== '')
    const text = first?.replace(/^(?:lts\/|node-?|python-?|v)/, '') ?? ''
    const range = releases[text.toLowerCase()] ?? text
    if (/^\d/.test(range)) return { range: withoutPatch(range, language), place }
  }
  return undefined
}

/** Not each patch release is on each machine. */
export function withoutPatch(version: string, language: keyof typeof files): string {
  if (language === 'python') return version.split('.').slice(0, 2).join('.')
  return version.includes('.') ? `^${version}` : version
}
